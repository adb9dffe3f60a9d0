import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, messageOf } from '../api/api-error.ts';
import { call, path } from '../api/client.ts';
import type { DryRun, Intent, IntentBody } from '../api/intents.ts';
import { newKey } from '../api/new-key.ts';
import { ActButton } from '../components/act-button.tsx';
import { toast } from '../components/toast.tsx';
import { useDrafts } from '../drafts.ts';
import { go } from '../router.ts';
import type { Fault } from '../schema-form/place-faults.ts';
import { DryRunResult } from './dry-run-result.tsx';

interface Checked {
  readonly text: string;
  readonly result: DryRun;
  /** One request, however often it is sent. */
  readonly key: string;
}

interface CheckedIntentProps {
  readonly cluster: string;
  /** Undefined: what is needed is not filled in; `why` says what. */
  readonly body: IntentBody | undefined;
  readonly why: string | undefined;
  readonly action: string;
  /** Faults go to their fields. */
  readonly onFaults: (faults: readonly Fault[]) => void;
  /** Places of faults that are shown in the form above, by their beginnings. */
  readonly placedAbove: readonly string[];
}

/** First what would become of an intent, its faults and its diff; then the intent itself, the very same. */
export function CheckedIntent(props: CheckedIntentProps): JSX.Element {
  const { cluster, body, why, action, onFaults, placedAbove } = props;
  const [checked, setChecked] = useState<Checked>();
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);
  const text = useMemo(() => JSON.stringify(body), [body]);
  const isChecked = checked?.text === text;
  const drafts = useDrafts();
  const isLeft = useRef(false);
  useEffect(() => {
    isLeft.current = false;
    return () => (isLeft.current = true);
  }, []);

  const send = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setFault('');
    onFaults([]);
    try {
      await work();
    } catch (error) {
      if (error instanceof ApiError) onFaults(error.faults);
      setFault(faultText(error, placedAbove));
      if (isLeft.current) toast(`${action}: ${messageOf(error)}`, 'fault');
    }
    setBusy(false);
  };
  const check = async (): Promise<void> => {
    const result = await call<DryRun>('POST', path`/clusters/${cluster}/intents`, { body: { ...body, dryRun: true } });
    setChecked({ text, result, key: newKey() });
    onFaults(result.violations);
  };
  const ask = async (): Promise<void> => {
    const { id } = await call<Intent>('POST', path`/clusters/${cluster}/intents`, {
      body,
      ...(checked === undefined ? {} : { idempotencyKey: checked.key }),
    });
    drafts.forget();
    // Who has gone elsewhere meanwhile stays there.
    if (isLeft.current) toast(`${action}: it was asked for as ${id}. It is under Intents.`);
    else go(path`/intents/${id}`);
  };
  const whyNotAsked = !isChecked
    ? 'Check it first: you see what would change, and what stands against it.'
    : checked.result.violations.length > 0
      ? 'It would be refused as it is.'
      : undefined;

  return (
    <section class="checked" aria-label="Check and ask">
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="buttons">
        <ActButton scope="deploy" why={isBusy ? 'Wait for the answer.' : why} onClick={() => void send(check)}>
          Check
        </ActButton>
        <ActButton
          scope="deploy"
          look="main"
          why={isBusy ? 'Wait for the answer.' : (why ?? whyNotAsked)}
          onClick={() => void send(ask)}
        >
          {action}
        </ActButton>
      </div>
      {checked !== undefined && !isChecked && <p class="quiet">What was checked below has been changed since.</p>}
      {checked !== undefined && <DryRunResult result={checked.result} placedAbove={placedAbove} />}
    </section>
  );
}

/** Those that a field shows are not told twice. */
function faultText(error: unknown, placedAbove: readonly string[]): string {
  if (!(error instanceof ApiError) || error.faults.length === 0) return messageOf(error);
  const others = error.faults.filter((one) => !placedAbove.some((place) => one.path.startsWith(place)));
  const told = others.map((one) => `${one.path} ${one.message}`);
  return [`It was refused${others.length === error.faults.length ? '' : ': see the fields above'}`, ...told].join('; ');
}
