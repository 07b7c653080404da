import { msToTs } from '@temporalio/common/lib/time.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { ensureCurrentAttempt } from '../../../activities/lib/current-attempt.ts';
import { VirtualMachinePools } from '../../../api/resources.ts';
import { KubeClient } from '../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../kubernetes/config.ts';
import { aFleet } from '../../integration/fleet.ts';

const cluster = aFleet({ simulator: false, workers: 0 });
const QUEUE = { name: 'attempts' };
/** `COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK` of Temporal's API. */
const SCHEDULE_ACTIVITY = 1;

afterEach(() => void vi.restoreAllMocks());

/**
 * Returns the task tokens of an activity's attempts. Each attempt begins after the previous one has missed its
 * heartbeat timeout of one second.
 */
async function attempts(count: number): Promise<Uint8Array[]> {
  const { client } = cluster().temporal;
  const service = client.workflowService;
  const { namespace } = client.options;
  await client.workflow.start('anything', { taskQueue: QUEUE.name, workflowId: `attempts-${Math.random()}` });
  const polled = <T>(poll: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + 60_000, poll);
  const { taskToken } = await polled(() => service.pollWorkflowTaskQueue({ namespace, taskQueue: QUEUE }));
  const scheduleActivityTaskCommandAttributes = {
    activityId: 'act',
    activityType: { name: 'act' },
    taskQueue: QUEUE,
    startToCloseTimeout: msToTs('60s'),
    scheduleToCloseTimeout: msToTs('120s'),
    heartbeatTimeout: msToTs('1s'),
    retryPolicy: { initialInterval: msToTs('1s'), backoffCoefficient: 1 },
  };
  const commands = [{ commandType: SCHEDULE_ACTIVITY, scheduleActivityTaskCommandAttributes }];
  await service.respondWorkflowTaskCompleted({ namespace, taskToken, commands });
  const tokens: Uint8Array[] = [];
  while (tokens.length < count)
    tokens.push((await polled(() => service.pollActivityTaskQueue({ namespace, taskQueue: QUEUE }))).taskToken);
  return tokens;
}

/** An attempt with this token that writes to a pool through a worker's client. */
async function writing(
  taskToken: Uint8Array,
): Promise<{ write: () => Promise<unknown>; replicas: () => Promise<number | undefined> }> {
  const namespace = await cluster().namespace();
  await cluster().createPool(namespace, 'web', { replicas: 1 });
  const kube = new KubeClient(loadKubeConfig({ kubeconfig: cluster().stack.kubeconfig }), {
    beforeWrite: ensureCurrentAttempt,
  });
  const environment = new MockActivityEnvironment({ taskToken }, { client: cluster().temporal.client });
  const patch = (): Promise<unknown> =>
    kube.patch(VirtualMachinePools, { namespace, name: 'web' }, 'merge', { spec: { replicas: 2 } });
  return {
    write: () => environment.run(patch),
    replicas: async () => (await cluster().pool(namespace, 'web'))?.spec.replicas,
  };
}

test('an attempt writes while Temporal knows it to be alive, and no longer once another has taken its place', async () => {
  const [first, second] = await attempts(2);
  const [old, current] = await Promise.all([writing(first!), writing(second!)]);
  await expect(old.write()).rejects.toMatchObject({ type: 'AttemptGivenUp' });
  expect(await old.replicas()).toBe(1);
  await current.write();
  expect(await current.replicas()).toBe(2);
});

test('an attempt that was suspended asks again before it writes', async () => {
  const { client } = cluster().temporal;
  const [token] = await attempts(1);
  const heartbeat = vi.spyOn(client.activity, 'heartbeat');
  const { write } = await writing(token!);
  await write();
  await write();
  expect(heartbeat).toHaveBeenCalledTimes(1);
  const woken = Date.now() + 60_000;
  vi.spyOn(Date, 'now').mockImplementation(() => woken);
  await client.workflowService.respondActivityTaskCompleted({ namespace: client.options.namespace, taskToken: token! });
  await expect(write()).rejects.toMatchObject({ type: 'AttemptGivenUp' });
  expect(heartbeat).toHaveBeenCalledTimes(2);
});
