import { expect, test } from 'vitest';
import { watchFound } from '../../../clients/doctor/temporal.ts';

type Activity = NonNullable<Parameters<typeof watchFound>[2]>;
const at = (seconds: number): { seconds: never } => ({ seconds: seconds as never });
/** `PendingActivityState`. */
const [SCHEDULED, STARTED] = [1, 2];

const outcomeOf = (activity: Activity | undefined): string =>
  watchFound('watch/default', 'drover-default', activity).outcome;
const lost = { lastFailure: { message: 'this worker cannot reach the API server' }, lastWorkerIdentity: 'worker-1' };

test('an outage that is over is no warning, though Temporal keeps the failure of the attempt before', () => {
  const running = { ...lost, state: STARTED, lastStartedTime: at(100), lastHeartbeatTime: at(160) };
  expect(outcomeOf(running)).toBe('OK');
});

test('a watch that has failed and has not begun again is a warning', () => {
  expect(outcomeOf({ ...lost, state: SCHEDULED, lastStartedTime: at(100), lastHeartbeatTime: at(160) })).toBe(
    'Warning',
  );
  const begun = { ...lost, state: STARTED, lastStartedTime: at(100), lastHeartbeatTime: at(90) };
  expect(outcomeOf(begun)).toBe('Warning');
});

test('a watch that no worker has taken is unknown', () => {
  expect(outcomeOf(undefined)).toBe('Unknown');
  expect(outcomeOf({ state: STARTED, lastWorkerIdentity: 'worker-1' })).toBe('OK');
});
