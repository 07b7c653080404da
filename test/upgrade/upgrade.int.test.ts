import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { droverCrds } from '../../api/crd/crds.ts';
import { RELEASE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { CustomResourceDefinitions } from '../../api/resources.ts';
import { givenCluster } from '../cluster/given/given.ts';
import { aFleet, until, type TestWorker } from '../integration/fleet.ts';
import { withFastStarts } from '../integration/healing/healings.ts';
import { spawnReaped } from '../reaped.ts';
import { testOneOf } from '../soak.ts';
import { nextRelease, previousRelease, type Release } from './releases.ts';
import {
  aDrain,
  aHeal,
  anOperation,
  aRollout,
  aScaleIn,
  aSchedule,
  aTransition,
  manyPools,
  type Work,
} from './works.ts';

const fleet = aFleet({ workers: 0 });
withFastStarts(fleet);

const folder = mkdtempSync(join(tmpdir(), 'drover-releases-'));
let [previous, next, wrong]: Release[] = [];
beforeAll(async () => {
  previous = previousRelease(folder);
  console.log(`the previous release is ${previous.of}`);
  [next, wrong] = [await nextRelease(folder, 'patched'), await nextRelease(folder, 'unpatched')];
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = (release: Release): Promise<TestWorker> =>
  fleet().startWorker({ DROVER_WORKFLOW_BUNDLE: release.workflows }, release.program);

/** Goes from workers of one release to another. */
type Change = (workers: TestWorker[], to: Release) => Promise<TestWorker[]>;

/** As after a crash of the machine that all workers were on. */
const killed: Change = async (workers, to) => {
  await Promise.all(workers.map((worker) => worker.kill()));
  return [await start(to)];
};

/** As Kubernetes updates a Deployment: a worker of the new release begins, then one of the old one is asked to end. */
const replaced: Change = async (workers, to) => {
  const after: TestWorker[] = [];
  for (const worker of workers) {
    after.push(await start(to));
    expect(await worker.stop()).toBe(0);
  }
  return after;
};

/** Runs `drover setup` of a release, and returns its exit code. */
async function setUp({ setup }: Release): Promise<number> {
  if (setup === undefined) {
    await fleet().setUp();
    return 0;
  }
  const { stack } = fleet();
  const env = { ...process.env, ...stack.env, KUBECONFIG: stack.kubeconfig };
  const child = spawnReaped(process.execPath, [...setup], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number];
  return code;
}

async function stamp(release: string | null): Promise<void> {
  const annotations = { [RELEASE_ANNOTATION]: release };
  for (const { metadata } of droverCrds())
    await fleet().kube.patch(CustomResourceDefinitions, metadata, 'merge', { metadata: { annotations } });
}

/** Has the definitions be those of a newer release until the test ends; a cluster of others is left as it is. */
async function stampDefinitions(): Promise<void> {
  if (givenCluster() !== undefined) return;
  onTestFinished(() => stamp(null));
  await stamp('99.0.0');
}

/** Begins works, each in a namespace of its own; resolves in the middle of all. */
async function begun(...makers: ((of: ReturnType<typeof fleet>) => Promise<Work>)[]) {
  const since = new Date().toISOString();
  const works = await Promise.all(makers.map((make) => make(fleet())));
  await Promise.all(works.map((work) => work.begin()));
  await Promise.all(works.map((work) => work.untilPart(1)));
  return { works, since };
}

/** Returns the workflows that failed since then, or that a release could not continue, each with the reason. */
async function failedSince(since: string): Promise<string[]> {
  const query = `ExecutionStatus IN ('Failed', 'Terminated') AND CloseTime > '${since}'`;
  const failed: string[] = [];
  const { workflow } = fleet().temporal.client;
  for await (const { workflowId, runId, status } of workflow.list({ query })) {
    const last = (await workflow.getHandle(workflowId, runId).fetchHistory()).events!.at(-1)!;
    const { failure } = last.workflowExecutionFailedEventAttributes ?? {};
    const reason = failure?.message ?? last.workflowExecutionTerminatedEventAttributes?.reason;
    if (status.name === 'FAILED' || reason?.includes('Nondeterminism') === true)
      failed.push(`${workflowId}: ${reason}`);
  }
  return failed;
}

/** Returns the workflows, begun since then, whose commands the next release has changed. */
async function patchedSince(since: string): Promise<string[]> {
  const ids: string[] = [];
  const query = `TemporalChangeVersion IS NOT NULL AND StartTime > '${since}'`;
  for await (const { workflowId } of fleet().temporal.client.workflow.list({ query })) ids.push(workflowId);
  return ids;
}

/** A worker is through with a task within this time. */
const AT_WORK_MS = 3_000;

/** Resolves when no workflow keeps failing, and none waits for a worker that has ended with its task. */
const untilNoneStuck = (): Promise<void> =>
  until(async () => {
    const { workflow } = fleet().temporal.client;
    for await (const { workflowId } of workflow.list({ query: `ExecutionStatus = 'Running'` })) {
      const { attempt, startedTime } = (await workflow.getHandle(workflowId).describe()).raw.pendingWorkflowTask ?? {};
      const isLost = startedTime ? Date.now() - tsToMs(startedTime) > AT_WORK_MS : false;
      expect({ workflowId, attempt: attempt ?? 1, isLost }).toEqual({ workflowId, attempt: 1, isLost: false });
    }
  });

const lacks = givenCluster()?.lacks ?? [];
/** All that the cluster has what is needed for. */
const WORKS = [
  aRollout,
  manyPools,
  anOperation,
  aSchedule,
  aTransition,
  ...(lacks.includes('DataVolumes') ? [] : [aHeal, aScaleIn]),
  ...(lacks.includes('live migration') ? [] : [aDrain]),
];

const thereAndBack = (change: Change, count: number) => async (): Promise<void> => {
  expect(await setUp(previous!)).toBe(0);
  const before = await Promise.all(Array.from({ length: count }, () => start(previous!)));
  const { works, since } = await begun(...WORKS);
  expect(await setUp(next!)).toBe(0);
  await stampDefinitions();
  const upgraded = await change(before, next!);
  await Promise.all(works.map((work) => work.untilPart(2)));
  await until(async () => expect(await patchedSince(since)).not.toEqual([]));
  expect(await failedSince(since)).toEqual([]);
  // As docs/upgrade.md says, the way back leaves the newer definitions: an older setup would remove their fields.
  if (previous!.setup !== undefined && givenCluster() === undefined) expect(await setUp(previous!)).toBe(1);
  const rolledBack = await replaced(upgraded, previous!);
  await untilNoneStuck();
  await Promise.all(works.map((work) => work.untilDone()));
  await untilNoneStuck();
  await Promise.all(rolledBack.map((worker) => worker.stop()));
};

testOneOf({
  'the next release follows workers that are killed in the middle of rollouts of 51 pools, a heal, a drain, a scale-in, an operation, a schedule and a machine type change, and the previous one follows it: nothing is lost, nothing is done twice':
    thereAndBack(killed, 1),
  'the next release follows workers that are replaced one after another in the middle of rollouts of 51 pools, a heal, a drain, a scale-in, an operation, a schedule and a machine type change, and the previous one follows it: nothing is lost, nothing is done twice':
    thereAndBack(replaced, 2),
  'a change of workflows without patched ends runs, which the other tests would report, and others take their places':
    async () => {
      const before = await start(previous!);
      const { works, since } = await begun(aRollout, anOperation);
      const [worker] = await replaced([before], wrong!);
      await until(async () => expect(await failedSince(since)).not.toEqual([]));
      await untilNoneStuck();
      await Promise.all(works.map((work) => work.untilPart(2)));
      await Promise.all(works.map((work) => work.untilDone()));
      await untilNoneStuck();
      await worker!.stop();
    },
});
