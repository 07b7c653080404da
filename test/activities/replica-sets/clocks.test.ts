import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { ClusterCache } from '../../../activities/cache/cluster-cache.ts';
import type { OnPlanned } from '../../../activities/lib/planned.ts';
import type { PlannedSet, ReplicaSetRequest } from '../../../activities/replica-sets/replica-set-request.ts';
import { createReplicaSetActivities } from '../../../activities/replica-sets/replica-sets.ts';
import type { ReplicaSetPlan } from '../../../decisions/replica-sets/plan.ts';
import type { FailedStarts } from '../../../decisions/replica-sets/start-backoff.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { anInstance, anInstanceSet } from '../../decisions/replica-sets/sets.ts';
import { deleted, made } from '../../decisions/replica-sets/steps.ts';

const kind = 'VirtualMachineInstanceReplicaSet';
type Planned = Extract<PlannedSet, { gone: false }> & Pick<ReplicaSetPlan, 'status'>;

/** Plans for a set at a time of the workflow's clock, of which the API server's is ahead. */
function planner(spec: Parameters<typeof anInstanceSet>[0], aheadMs: number) {
  const set = anInstanceSet(spec);
  let vmis: readonly VmiView[] = [];
  let now = 0;
  let plan: unknown;
  const onPlanned: OnPlanned = (planned) => void (plan = planned.plan);
  const cache = {
    lost: new AbortController().signal,
    isDelegated: () => false,
    catchUp: () => Promise.resolve({}),
    vmiSets: { get: () => set, values: () => [set] },
    vmisOf: () => vmis,
    uncontrolledVmisIn: () => [],
    isVmiNameTaken: () => false,
    vms: { othersBeside: () => [] },
    vmis: { othersBeside: () => [] },
  } as unknown as ClusterCache;
  const client = { clock: { now: () => now + aheadMs } } as KubeClient;
  const activities = createReplicaSetActivities({
    client,
    cache,
    ownerIdOf: () => 'web',
    onPlanned,
    burst: 250,
    concurrency: 1,
  });
  const info = { isLocal: true, workflowExecution: { workflowId: 'web', runId: 'run' } };
  const environment = new MockActivityEnvironment(info);
  return async (time: number, known: readonly VmiView[], starts: FailedStarts | null = null): Promise<Planned> => {
    [now, vmis] = [time, known];
    const asked: ReplicaSetRequest = {
      kind,
      namespace: 'shop',
      name: 'web',
      minVersions: {},
      resultUnknown: false,
      inProgress: { creating: [], deleting: [] },
      uncertain: [],
      backoffs: {},
      starts,
      turn: 0,
      holdsStatus: 'All',
      now,
    };
    const run: () => Promise<PlannedSet> = () => activities.planReplicaSet(asked);
    const planned = (await environment.run<[], PlannedSet, typeof run>(run)) as Extract<PlannedSet, { gone: false }>;
    return { ...planned, status: (plan as ReplicaSetPlan).status };
  };
}

const SKEWS = [-600_000, -90_000, 0, 90_000, 600_000];
const T = 1_000_000_000;

test.each(SKEWS)("the API server's clock counts minReadySeconds, however far ahead it is (%d ms)", async (ahead) => {
  const plan = planner({ replicas: 1, minReadySeconds: 30 }, ahead);
  const vmi = anInstance('web-1', { createdAt: T + ahead, runningSince: T + ahead, readySince: T + ahead });
  const early = await plan(T + 29_000, [vmi]);
  expect(early.status).toMatchObject({ readyReplicas: 1, availableReplicas: 0 });
  expect(early.requeueAt).toBe(T + 30_000);
  expect((await plan(T + 30_000, [vmi])).status).toMatchObject({ availableReplicas: 1 });
});

/** Has a set try a template for ten minutes whose VMIs run for two seconds, and returns how many it made. */
async function tryBadTemplate(ahead: number): Promise<number> {
  const plan = planner({ replicas: 2 }, ahead);
  let vmis: VmiView[] = [];
  let starts: FailedStarts | null = null;
  let count = 0;
  for (let now = T; now < T + 600_000; now += 1_000) {
    const time = now + ahead;
    vmis = vmis
      .filter(({ deleting }) => !deleting)
      .map((vmi) =>
        time - vmi.createdAt < 2_000 ? vmi : { ...vmi, phase: 'Failed', ready: false, endedAt: vmi.createdAt + 2_000 },
      );
    const planned = await plan(now, vmis, starts);
    ({ starts } = planned);
    const leaving = deleted(planned.steps);
    vmis = vmis.map((vmi) => (leaving.includes(vmi.name) ? { ...vmi, deleting: true } : vmi));
    for (const name of made(planned.steps)) {
      count++;
      vmis.push(anInstance(name, { uid: `${name}-${count}`, createdAt: time, runningSince: time, readySince: time }));
    }
  }
  return count;
}

test('a template that never comes up makes equally few VMIs, whatever the clocks say', async () => {
  // All of them twice, and then one after 10 s, 20 s, … and 300 s.
  for (const ahead of SKEWS) expect(await tryBadTemplate(ahead)).toBe(9);
});
