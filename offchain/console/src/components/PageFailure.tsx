import { Component, type ComponentChildren } from "preact";

interface FailureState {
  path: string;
  error: Error | null;
}

/** Shows a page that failed as an error, until the person goes to another page. */
export class PageFailure extends Component<{ path: string; children: ComponentChildren }, FailureState> {
  override state: FailureState = { path: this.props.path, error: null };

  static getDerivedStateFromProps(props: { path: string }, state: FailureState): Partial<FailureState> | null {
    return props.path === state.path ? null : { path: props.path, error: null };
  }

  override componentDidCatch(error: Error): void {
    this.setState({ error });
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div class="notice notice-bad" role="alert">
        <h1>This page failed</h1>
        <p>{error.message}</p>
        <p class="muted">The gateway may have a newer console: load the page again.</p>
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
      </div>
    );
  }
}
