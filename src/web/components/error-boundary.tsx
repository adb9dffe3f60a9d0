import { Component, type ComponentChildren } from 'preact';
import { addressStore } from '../router.ts';
import { Failure } from './states.tsx';

interface Props {
  readonly children: ComponentChildren;
}

interface State {
  readonly error: Error | undefined;
}

/** A fault of one view takes the others away from nobody: another address is drawn anew. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined };
  #stop: (() => void) | undefined;

  static override getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override componentDidMount(): void {
    this.#stop = addressStore.subscribe(() => this.#forget());
  }

  override componentWillUnmount(): void {
    this.#stop?.();
  }

  #forget(): void {
    if (this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render({ children }: Props, { error }: State): ComponentChildren {
    return error === undefined ? children : <Failure error={error} retry={() => this.#forget()} />;
  }
}
