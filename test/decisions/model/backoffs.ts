import type { Backoff, Backoffs, Failure, FailureReason } from '../../../decisions/pool/failures.ts';

/** What failures for this reason leave to a plan: nothing, apart from what is given. */
export const backoffFor = (reason: FailureReason, given: Partial<Backoff> = {}): Backoffs => ({
  [reason]: { failure: null, allowance: null, refused: { names: [], isHeld: false }, ...given },
});

export const aFailure = (reason: FailureReason, message = 'refused'): Failure => ({
  reason,
  message,
  since: '2026-01-01T00:00:00Z',
});

/** What such a failure leaves to a plan. */
export const failed = (reason: FailureReason, given: Partial<Backoff> = {}): Backoffs =>
  backoffFor(reason, { failure: aFailure(reason), ...given });
