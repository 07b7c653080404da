import {
  CancellationScope,
  condition,
  proxyActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { Beginning, OperationActivities } from '../../activities/operations/operations.ts';
import type { EndReason } from '../../api/operations/reasons.ts';
import type { Act } from '../../decisions/history/act.ts';
import { escapeMarkdown } from '../../decisions/lib/markdown.ts';
import { actionReport, type OperationProgress } from '../../decisions/operations/action-report.ts';
import { operationName, operationResource, type OperationRef } from '../../decisions/operations/ref.ts';
import type { RunInput } from '../../decisions/operations/run-input.ts';
import { bytesOfRecords } from '../../decisions/power/payload-bytes.ts';
import { Journal } from '../history/journal.ts';
import { changed, operationProgress, type OperationKey } from '../lib/messages.ts';
import { onQuery, onSignal } from '../lib/on-signal.ts';
import { HomeQueue } from '../lib/queues.ts';
import { DroverCluster, DroverNamespaces } from '../lib/search-attributes.ts';
import { unknownObject } from '../lib/unknown-object.ts';
import { TransitionRun, type CarriedTransition } from '../machine-types/transition-run.ts';
import { PowerRun, type CarriedPower } from '../power/power-run.ts';
import type { Halt } from '../runs/run.ts';

const { beginOperation, reportOperation, deleteOperation } = proxyActivities<OperationActivities>({
  startToCloseTimeout: '10m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

/** Such as a time to live of years: timers must not be longer. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

export type CarriedRun = CarriedPower | CarriedTransition;

/** What was done; null if nothing was. */
type OperationEnd = (OperationProgress & { acts: Act[] }) | null;

/**
 * Carries out an operation, of a namespace or cluster-wide, and deletes the object when its time after the end is over.
 * What is to be done is read from the API server, and activities act by nothing that the object does not say. The run
 * that begins it acts itself, since Temporal has a young workflow wait up to a second for a new run; only to begin anew
 * takes one. A caller who starts it without an object starts nothing.
 * `ended`: what was done, while the object waits to be deleted.
 */
export const operation = (
  key: OperationKey,
  run: CarriedRun | null = null,
  ended: OperationEnd = null,
): Promise<OperationEnd> =>
  // A user who wants it to end aborts or deletes the object.
  CancellationScope.nonCancellable(() => carryOut(key, run, ended));

async function carryOut(key: OperationKey, run: CarriedRun | null, ended: OperationEnd): Promise<OperationEnd> {
  const { cluster, ...ref } = key;
  const name = escapeMarkdown(operationName(ref));
  if (run === null && ended === null) showWhere(cluster, ref);
  let hasChanged = false;
  const home = new HomeQueue(key);
  onSignal(changed, 'The operation has changed: look again.', ({ shards }) => {
    hasChanged = true;
    home.hear(shards);
  });
  const wait = (ms: number): Promise<unknown> => condition(() => hasChanged, Math.min(ms, LONGEST_WAIT_MS));
  let begun = run;
  let journal = journalOf(begun, ended);
  let acting = begun === null ? null : runOf(begun, journal);
  const end = (): OperationEnd => (acting === null ? ended : { ...acting.progress, acts: journal.kept });
  onQuery(operationProgress, 'How far it is; null before it begins.', () => acting?.progress ?? ended);
  let isOpen = acting !== null;
  for (let isKnown = isOpen || ended !== null; ; isKnown = true) {
    hasChanged = false;
    if (acting !== null && isOpen) {
      const halt = await acting.carryOut();
      if (halt.is === 'long') await home.continueAsNew<typeof operation>(key, carriedOn(begun!, acting, journal));
      isOpen = halt.is === 'paused';
      if (halt.is === 'anew') acting = null;
      else await reportOperation(ref, { progress: acting.progress, end: endOf(halt, acting) });
      if (!isOpen) continue;
      await wait(LONGEST_WAIT_MS);
      acting!.resume();
      continue;
    }
    if (home.needsNewRun) await home.continueAsNew<typeof operation>(key, null, end());
    const now: Beginning = await beginOperation(ref);
    if (now.is === 'missing' && !isKnown) throw unknownObject(operationResource(ref).kind, ref, 'carries it out');
    if (now.is === 'run') {
      const next = { ...now, state: null, acts: journal.kept } as CarriedRun;
      // Activities read the chosen VMs from the history of the run, which has one choice.
      if (begun !== null) await home.continueAsNew<typeof operation>(key, next);
      begun = next;
      journal = journalOf(begun, ended);
      acting = runOf(begun, journal);
      isOpen = true;
      continue;
    }
    if (now.is === 'missing' || (now.is === 'over' && now.deleteAt === null)) return end();
    if (acting === null) setCurrentDetails(`Operation **${name}**: **${now.is}**`);
    await untilNext(now, ref, wait);
  }
}

/** Lets `drover history` find the operation, whoever has started it, and only where it may act. */
const showWhere = (cluster: string, { namespace }: OperationRef): void =>
  upsertSearchAttributes([
    { key: DroverCluster, value: cluster },
    ...(namespace === undefined ? [] : [{ key: DroverNamespaces, value: [namespace] }]),
  ]);

/** Waits until an operation that is not to be carried out now is to be looked at again. */
async function untilNext(now: Beginning, ref: OperationRef, wait: (ms: number) => Promise<unknown>): Promise<void> {
  if (now.is === 'paused') await wait(LONGEST_WAIT_MS);
  else if (now.is === 'over' && now.deleteAt !== null)
    await (now.deleteAt > Date.now() ? wait(now.deleteAt - Date.now()) : deleteOperation(ref));
}

const journalOf = (run: CarriedRun | null, ended: OperationEnd): Journal =>
  new Journal((run ?? ended)?.acts, run === null ? undefined : bytesFor(run.input));

const bytesFor = (input: RunInput): number | undefined =>
  input.action === 'MachineType' ? undefined : bytesOfRecords(input.chosen.count);

const carriedOn = ({ input }: CarriedRun, { carried }: PowerRun | TransitionRun, journal: Journal): CarriedRun =>
  ({ input, state: carried, acts: journal.kept }) as CarriedRun;

const runOf = (run: CarriedRun, journal: Journal): PowerRun | TransitionRun =>
  isTransition(run) ? new TransitionRun(run, journal) : new PowerRun(run, journal);

const isTransition = (run: CarriedRun): run is CarriedTransition => run.input.action === 'MachineType';

function endOf(halt: Halt, { progress }: PowerRun | TransitionRun): { reason: EndReason; message: string } | null {
  if (halt.is === 'refused') return { reason: 'Refused', message: halt.message };
  return halt.is === 'paused' ? null : actionReport(progress).end;
}
