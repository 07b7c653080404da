import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { UserRequest, ControlledRun } from '../../decisions/runs/user-request.ts';
import { abort, pause, resume } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import type { RequestPayload } from '../lib/payloads.ts';

interface RunControlsOptions {
  /** What pausing and aborting mean here, for Temporal's Web UI. */
  pauses: string;
  aborts: string;
  /** Called after `state` has changed at a user's request. */
  onAsked: () => void;
}

/**
 * Runs what users control. A requested cancellation, which the Web UI offers, means an abort: otherwise the run would
 * end with VMs in flight and marks to clear.
 */
export const withControls = <T>(run: () => Promise<T>): Promise<T> => CancellationScope.nonCancellable(run);

/** Handles `pause`, `resume` and `abort` for a run, within `withControls`, and ends its look when one of them comes. */
export class RunControls {
  #look = new CancellationScope();

  constructor(state: ControlledRun, { pauses, aborts, onAsked }: RunControlsOptions) {
    const asked =
      (change: (what: UserRequest) => void) =>
      (requestPayload: RequestPayload): void => {
        change(said(requestPayload));
        onAsked();
        // The look was made under the old rules.
        this.#look.cancel();
      };
    onSignal(
      pause,
      pauses,
      asked((what) => (state.paused = what)),
    );
    onSignal(
      resume,
      'Continue after a pause.',
      asked(() => (state.paused = null)),
    );
    const aborted = asked((what) => (state.aborted = what));
    onSignal(abort, aborts, aborted);
    const inTemporal = { why: 'its cancellation was requested in Temporal' };
    void CancellationScope.current().cancelRequested.catch(() => state.aborted ?? aborted(inTemporal));
  }

  /**
   * Resolves with what the look has found; null if a user asks for something meanwhile. `wait` must change nothing.
   */
  async look<T>(wait: () => Promise<T>): Promise<T | null> {
    const look = new CancellationScope();
    this.#look = look;
    try {
      return await look.run(wait);
    } catch (error) {
      if (isCancellation(error) && look.consideredCancelled && !CancellationScope.current().consideredCancelled)
        return null;
      throw error;
    }
  }
}

const said = ({ by = 'unknown', why = null as string | null }: { by?: string; why?: string | null }): UserRequest => ({
  by,
  at: new Date(Date.now()).toISOString(),
  why,
});
