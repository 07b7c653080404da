import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { Said, Steered } from '../../decisions/runs/user-request.ts';
import { onSignal } from '../handlers.ts';
import { abort, pause, resume } from '../messages.ts';
import type { Asking } from '../payloads.ts';

interface SteeringOptions {
  /** What pausing and aborting mean here, for Temporal's Web UI. */
  pauses: string;
  aborts: string;
  /** Somebody has asked for something, which `state` says by now. */
  onAsked: () => void;
}

/**
 * Runs what people steer. Whoever requests its cancellation, as the Web UI offers to, means an abort: it has things in
 * hand and marks to be cleared, and would end in the midst of that.
 */
export const steered = <T>(run: () => Promise<T>): Promise<T> => CancellationScope.nonCancellable(run);

/** Takes `pause`, `resume` and `abort` for a run, within `steered`, and ends its look when one comes. */
export class RunControls {
  #look = new CancellationScope();

  constructor(state: Steered, { pauses, aborts, onAsked }: SteeringOptions) {
    const asked =
      (change: (what: Said) => void) =>
      (asking: Asking): void => {
        change(said(asking));
        onAsked();
        // What it would find was asked for under other rules.
        this.#look.cancel();
      };
    onSignal(
      pause,
      pauses,
      asked((what) => (state.paused = what)),
    );
    onSignal(
      resume,
      'Go on after a pause.',
      asked(() => (state.paused = null)),
    );
    const aborted = asked((what) => (state.aborted = what));
    onSignal(abort, aborts, aborted);
    const inTemporal = { why: 'its cancellation was requested in Temporal' };
    void CancellationScope.current().cancelRequested.catch(() => state.aborted ?? aborted(inTemporal));
  }

  /** What the look has found; null where somebody has asked for something meanwhile. It must change nothing. */
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

const said = ({ by = 'somebody', why = null as string | null }: { by?: string; why?: string | null }): Said => ({
  by,
  at: new Date(Date.now()).toISOString(),
  why,
});
