import { expect, onTestFinished, test } from 'vitest';
import { Nodes, Pods, VirtualMachineDisruptionBudgets } from '../../../api/resources.ts';
import type { Node } from '../../../decisions/from-object/node.ts';
import { budgetManifest } from '../../api/budgets/budgets.ts';
import { TestDrain } from '../../integration/drain/drains.ts';
import { aFleet, runningTemplate, until } from '../../integration/fleet.ts';
import { userWith } from '../../integration/operations/operations.ts';
import { follow, nowhere, outcomeOf, start, type Outcome } from '../drover.ts';
import { droverHere } from '../in-process.ts';

const fleet = aFleet();

const CAUSE = 'kubernetes.io/change-cause';
/** In no year soon: VMs that are to leave wait. */
const CLOSED = { windows: [{ cron: '0 0 29 2 *', duration: '1m' }] };

const nodeNamed = (name: string): Promise<Node> => fleet().kube.get<Node>(Nodes, { name });
const isCordoned = async (name: string): Promise<boolean> => (await nodeNamed(name)).spec?.unschedulable === true;
const drover = (...args: string[]): Promise<Outcome> =>
  droverHere(args, { ...nowhere, KUBECONFIG: fleet().stack.kubeconfig });

/** A pool whose VMs are on this node among others, which is uncordoned at the end. */
async function aPoolOn(spec: Parameters<TestDrain['pool']>[1] = {}): Promise<{ drain: TestDrain; node: string }> {
  const drain = await TestDrain.in(fleet());
  await drain.pool('web', { replicas: 3, maxUnavailable: 1, ...spec }, { 'sim.drover.dev/migration-time': '200ms' });
  const node = await drain.nodeOf('web-1');
  onTestFinished(() => drain.uncordon(node));
  return { drain, node };
}
const marks = async (drain: TestDrain): Promise<string[]> =>
  (await drain.vmis('web')).flatMap(({ metadata, status }) =>
    status?.evacuationNodeName === undefined ? [] : [metadata.name],
  );

test('`drain start` empties a node of VMs as `kubectl drain` does, and leaves other pods alone', async () => {
  const { drain, node } = await aPoolOn();
  await drain.pods('other', { stays: true }, node);
  const before = await drain.uids();
  const { code, stdout, stderr } = await drover('drain', 'start', node, '--reason', 'kernel update');
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain('will be moved within the budget of its pool when evicted');
  expect(stdout).toMatch(/cordoned, and [1-9]\d* VMs? asked to leave/);
  expect(stderr).toContain('1 other pod on the node left alone');
  await drain.left('web', 3, node);
  expect(await drain.uids()).toEqual(before);
  expect((await nodeNamed(node)).metadata.annotations).toMatchObject({ [CAUSE]: 'kernel update' });
  expect(await fleet().kube.get(Pods, { namespace: drain.namespace, name: 'stays' })).toBeDefined();

  const cancelled = await drover('drain', 'cancel', node);
  expect(cancelled).toMatchObject({ code: 0, stdout: `node ${node} uncordoned\n` });
  expect(await isCordoned(node)).toBe(false);
  expect((await nodeNamed(node)).metadata.annotations?.[CAUSE]).toBeUndefined();
  expect(await drover('drain', 'cancel', node)).toMatchObject({
    code: 0,
    stdout: `node ${node} unchanged: it is not cordoned, and no VM on it was asked to leave\n`,
  });
});

test('a drain that is asked for twice at once, dry, and called off leaves VMs where they are', async () => {
  const { drain, node } = await aPoolOn({ drain: CLOSED });
  for (const where of ['client', 'server']) {
    const dry = await drover('drain', 'start', node, `--dry-run=${where}`);
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('dry run)') });
    expect([await isCordoned(node), await marks(drain)]).toEqual([false, []]);
  }
  const both = await Promise.all([1, 2].map(() => drover('drain', 'start', node, '--no-wait')));
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect([await isCordoned(node), await marks(drain)]).toEqual([true, ['web-1']]);
  await until(async () => expect((await drover('drain', 'status', node)).stdout).toMatch(/web-1 .* Window/));
  const before = await drain.uids();
  expect(await drover('drain', 'cancel', node)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/uncordoned, and [1-9]\d* VMs? no longer asked to leave\n/),
  });
  expect([await isCordoned(node), await marks(drain), await drain.uids()]).toEqual([false, [], before]);
});

test('Ctrl-C says how far a drain is, and what continues it or takes it back', async () => {
  const { drain, node } = await aPoolOn({ drain: CLOSED });
  const command = start(['drain', 'start', node], { ...nowhere, ...fleet().stack.env });
  const outcome = outcomeOf(command);
  await follow(command.stdout!)('cordoned, and ');
  command.kill('SIGINT');
  const { code, stderr } = await outcome;
  expect(code).toBe(130);
  // VMs of other tests may be there, too.
  expect(stderr).toMatch(
    new RegExp(`node ${node} stays cordoned, and [1-9]\\d* of [1-9]\\d* VMs? (was|were) asked to leave`),
  );
  expect(stderr).toContain(`drover drain cancel ${node}`);
  expect(await marks(drain)).toEqual(['web-1']);
});

test('a user who may not do all of a drain changes nothing, and a node that does not exist is named', async () => {
  const { drain, node } = await aPoolOn({ drain: CLOSED });
  const reads = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
  const patch = { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] };
  const { kubeconfig } = await userWith(fleet(), drain.namespace, 'half', [], [reads, patch]);
  const env = { ...nowhere, KUBECONFIG: kubeconfig };
  const refused = await droverHere(['drain', 'start', node], env);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('nothing was changed: you may not create pods/eviction in ');
  expect(refused.stderr).toContain(`create pods/eviction in ${drain.namespace}`);
  expect([await isCordoned(node), await marks(drain)]).toEqual([false, []]);
  for (const verb of ['start', 'cancel'])
    expect(await drover('drain', verb, 'nowhere')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no node nowhere'),
    });
});

// Last, and without waiting for VMs of the tests above: drains of others would shut down its VMs.
test('`drain start` has VMs under a disruption budget restarted by an operation, and evicts none', async () => {
  const drain = await TestDrain.in(fleet());
  await fleet().createPool(drain.namespace, 'web', { replicas: 3, maxUnavailable: 1, template: runningTemplate });
  await until(async () =>
    expect((await fleet().pool(drain.namespace, 'web'))!.status).toMatchObject({ readyReplicas: 3 }),
  );
  const node = await drain.nodeOf('web-1');
  onTestFinished(() => drain.uncordon(node));
  const metadata = { name: 'all', namespace: drain.namespace };
  const budget = { ...budgetManifest({ selector: {}, maxUnavailable: 1 }), metadata };
  await fleet().kube.create(VirtualMachineDisruptionBudgets, budget);
  const refused = await drover('drain', 'start', node);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('shut down within disruption budgets: ') });
  const before = await drain.uids();
  const { code, stdout } = await drover('drain', 'start', node, '--shut-down', '--no-wait');
  expect(code).toBe(0);
  expect(stdout).toMatch(/cordoned, and .*[1-9]\d* VMs? to be restarted by operation \S+\/restart-/);
  await drain.left('web', 3, node);
  expect(await drain.uids()).not.toEqual(before);
  expect(await marks(drain)).toEqual([]);
});
