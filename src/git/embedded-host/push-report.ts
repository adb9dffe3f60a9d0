import { FLUSH_PKT, pktLine } from '../pkt-line.ts';
import type { PushRequest } from './push-request.ts';
import type { PushOutcome } from './receive-push.ts';

/** Data of one side-band packet at most (gitprotocol-pack, "side-band-64k"). */
const BAND_BYTES = 65_515;

/** Body of the answer to a push: git's report, in side-band packets when the client asked for them. */
export function pushReport(request: PushRequest, outcome: PushOutcome): Buffer {
  const { capabilities } = request;
  const report: Buffer[] = [];
  if (capabilities.has('report-status') || capabilities.has('report-status-v2')) {
    report.push(pktLine(`unpack ${outcome.state === 'accepted' ? 'ok' : outcome.unpack}\n`));
    for (const { ref } of request.commands) {
      report.push(pktLine(outcome.state === 'accepted' ? `ok ${ref}\n` : `ng ${ref} ${outcome.reason}\n`));
    }
    report.push(FLUSH_PKT);
  }
  if (!capabilities.has('side-band-64k')) return Buffer.concat(report);
  const text = outcome.state === 'accepted' ? '' : `${outcome.text}\n`;
  return Buffer.concat([...band(2, Buffer.from(text, 'utf8')), ...band(1, Buffer.concat(report)), FLUSH_PKT]);
}

function band(number: 1 | 2, data: Buffer): readonly Buffer[] {
  const packets: Buffer[] = [];
  for (let at = 0; at < data.length; at += BAND_BYTES) {
    packets.push(pktLine(Buffer.concat([Buffer.from([number]), data.subarray(at, at + BAND_BYTES)])));
  }
  return packets;
}
