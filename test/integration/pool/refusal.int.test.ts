import { expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { Events, VirtualMachines } from '../../../api/resources.ts';
import { poolIdOf, progress } from '../../../workflows/lib/messages.ts';
import { deny } from '../admission-policy.ts';
import { aFleet, haltedTemplate, namesUpTo, until } from '../fleet.ts';

const fleet = aFleet({ simulator: false });

/** The pool's CRD accepts it, but KubeVirt's VM CRD doesn't. */
const wrong = {
  spec: { ...haltedTemplate.spec, template: { spec: { domain: { devices: {}, cpu: { cores: 'many' } } } } },
} as PoolSpec['template'];

/** Returns when each attempt was made, in seconds since the epoch. */
const attempts = async (namespace: string): Promise<number[]> => {
  const { events } = await fleet()
    .temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }))
    .fetchHistory();
  const made = (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'createVms',
  );
  return made.map(({ eventTime }) => Number(eventTime!.seconds));
};
/** Returns the time of the next attempt, in milliseconds since the epoch; NaN while an attempt is in progress. */
const nextTry = async (namespace: string): Promise<number> =>
  Date.parse(
    (
      await fleet()
        .temporal.client.workflow.getHandle(poolIdOf({ cluster: 'default', namespace, name: 'web' }))
        .query(progress)
    ).retryAt ?? '',
  );
/** Returns when each attempt was made, in seconds since the epoch. The next one is then some 8 s away. */
async function refusedFourTimes(namespace: string): Promise<number[]> {
  let made: number[] = [];
  await until(async () => {
    made = await attempts(namespace);
    // Three in parallel, which share the work, and then one after another.
    expect(made.length).toBeGreaterThanOrEqual(3 + 3);
  });
  return made;
}

test('a template that the API server refuses is reported and tried less and less often, and at once when the pool has been edited', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 200, template: wrong });
  await until(async () =>
    expect(await fleet().condition(namespace, 'web', 'ReplicaFailure')).toMatchObject({
      status: 'True',
      reason: 'FailedCreate',
    }),
  );
  const { 0: first, 5: sixth } = await refusedFourTimes(namespace);
  // Back-offs of one, two and four seconds.
  expect(sixth! - first!).toBeGreaterThan(5);
  let retryAt = 0;
  await until(async () => expect((retryAt = await nextTry(namespace))).not.toBeNaN());
  const right = { spec: { template: { spec: { domain: { cpu: null } } } } } as PoolSpec['template'];
  await fleet().patchPool(namespace, 'web', { template: right, replicas: 3 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).not.toEqual([]));
  expect(Date.now()).toBeLessThan(retryAt);
  await fleet().settled(namespace, 'web', namesUpTo('web', 3));
});

test('a number that a policy denies holds up no other', async () => {
  const namespace = await fleet().namespace();
  const { kube } = fleet();
  const denied = { metadata: { namespace, name: 'web-3' }, spec: haltedTemplate.spec };
  const tried = () => kube.create(VirtualMachines, denied, { dryRun: true });
  const expression = 'object.metadata.name != "web-3"';
  await deny(kube, { namespace, operation: 'CREATE', expression, message: 'no three', tried });
  await fleet().createPool(namespace, 'web', { replicas: 6 });
  const others = namesUpTo('web', 6).filter((name) => name !== denied.metadata.name);
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toEqual(others));
  // Reported by the step that was denied, rather than one by one as the later back-offs allow.
  const notes = async () => (await kube.list(Events, { namespace })).items.map(({ note }) => note);
  const note = /^1 of web-1 … web-6 \(6\) not created: .*no three/;
  await until(async () => expect(await notes()).toContainEqual(expect.stringMatching(note)));
});
