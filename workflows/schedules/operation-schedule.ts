import { CancellationScope, condition, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { ScheduleActivities } from '../../activities/schedules/schedules.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { changed, type OperationKey } from '../lib/messages.ts';
import { onSignal } from '../lib/on-signal.ts';
import { HomeQueue } from '../lib/queues.ts';
import { unknownObject } from '../lib/unknown-object.ts';

const { lookAtSchedule } = proxyActivities<ScheduleActivities>({
  startToCloseTimeout: '1m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/** Timers must not be longer, and a clock may have been set meanwhile. */
const LONGEST_WAIT_MS = 3_600_000;

/**
 * Makes the operations of a VirtualMachineOperationSchedule at their times. All that it knows is the object's identity,
 * and for which time the last was made: everything else is read from the API server, so that a caller who starts it
 * without an object starts nothing. `ranUntil`: milliseconds since the epoch.
 */
export const operationSchedule = (key: OperationKey, ranUntil: number | null = null): Promise<void> =>
  // A user who wants it to end suspends or deletes the object.
  CancellationScope.nonCancellable(() => keepTime(key, ranUntil));

async function keepTime(key: OperationKey, from: number | null): Promise<void> {
  const { cluster: _, ...ref } = key;
  const name = escapeMarkdown(`${ref.namespace}/${ref.name}`);
  let ranUntil = from;
  let hasChanged = false;
  const home = new HomeQueue(key);
  onSignal(changed, 'The schedule or one of its operations has changed: look again.', ({ shards }) => {
    hasChanged = true;
    home.hear(shards);
  });
  for (let isKnown = from !== null; ; isKnown = true) {
    if (home.needsNewRun) await home.continueAsNew<typeof operationSchedule>(key, ranUntil);
    hasChanged = false;
    const looked = await lookAtSchedule(ref, ranUntil);
    if (looked.is === 'missing' && !isKnown) throw unknownObject('VirtualMachineOperationSchedule', ref, 'keeps it');
    if (looked.is === 'missing') return;
    ranUntil = looked.ranUntil ?? ranUntil;
    const last = ranUntil === null ? 'never' : new Date(ranUntil).toISOString();
    setCurrentDetails(`Schedule **${name}**: last run **${last}**`);
    await condition(() => hasChanged, Math.min(looked.waitMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS));
  }
}
