import { expect, test } from 'vitest';
import { VirtualMachines } from '../../../api/resources.ts';
import type { Need, OwnerCard } from '../../../clients/dashboard/contract/fleet.ts';
import type { OwnerDetails, VmDetails } from '../../../clients/dashboard/contract/requests.ts';
import { aFleet, runningTemplate, until } from '../../integration/fleet.ts';
import { ROLE, userWith } from '../../integration/operations/operations.ts';
import { follow, nowhere, outcomeOf, start } from '../drover.ts';
import { byApproval } from '../rollout/pools.ts';
import { Opened } from './opened.ts';

const fleet = aFleet();
const cardOf = ({ viewer }: Opened, namespace: string): OwnerCard =>
  viewer.items.get(`pool/${namespace}/web`) as OwnerCard;
const needsIn = ({ viewer }: Opened, namespace: string): Need[] =>
  viewer.needs.items.filter(({ about }) => about.namespace === namespace);
const squares = ({ viewer }: Opened, namespace: string): string =>
  [...(viewer.cells.get(`pool/${namespace}/web`)?.values() ?? [])].map(([, state]) => state).join('');
const web = (namespace: string) => ({ kind: 'VirtualMachinePool', namespace, name: 'web' });

test('a rollout that waits for a user is seen and promoted on the page, as by the command', async () => {
  const namespace = await fleet().namespace();
  await using page = await Opened.start(fleet().stack.kubeconfig);
  await until(async () => expect(page.isSynced).toBe(true));
  await fleet().createPool(namespace, 'web', { replicas: 3, template: runningTemplate, rollout: byApproval(1) });
  await until(async () => expect(squares(page, namespace)).toBe('RRR'));
  expect(needsIn(page, namespace)).toEqual([]);

  const template = structuredClone(runningTemplate);
  (template.spec.template as { spec: { domain: object } }).spec.domain = { devices: {}, memory: { guest: '65Mi' } };
  await fleet().patchPool(namespace, 'web', { template });
  await until(async () =>
    expect(needsIn(page, namespace)).toMatchObject([{ kind: 'rollout.waiting', action: { name: 'rollout.promote' } }]),
  );
  await until(async () => expect(cardOf(page, namespace).revisions).toMatchObject([{ number: 2 }, { number: 1 }]));
  const revisions = [...page.viewer.cells.get(`pool/${namespace}/web`)!.values()].map(([, , revision]) => revision);
  expect(revisions.toSorted((a, b) => a - b)).toEqual([0, 1, 1]);

  expect(await page.act({ action: 'rollout.abort', about: web(namespace), confirm: 'wed' })).toEqual({
    ok: false,
    sentence: 'type the name web to confirm: this is not easily undone',
  });
  const promoted = await page.act({ action: 'rollout.promote', about: web(namespace), reason: 'it runs well' });
  expect(promoted).toMatchObject({ ok: true, sentence: 'virtualmachinepool.drover.dev/web promoted' });
  await until(async () => expect(cardOf(page, namespace).rollout?.phase).toBe('Complete'));
  await until(async () => expect(squares(page, namespace)).toBe('RRR'));
  const [handled] = (await fleet().pool(namespace, 'web'))!.status!.rollout!.handledRequests!;
  expect(handled).toMatchObject({ action: 'promote', by: page.session!.user, reason: 'it runs well', outcome: 'Done' });

  const { history } = await page.get<OwnerDetails>(`/api/owners/VirtualMachinePool/${namespace}/web`);
  expect(history.map(({ by }) => by)).toContain('drover');
  const vm = await page.get<VmDetails>(`/api/vms/${namespace}/web-1`);
  expect(vm).toMatchObject({
    card: `pool/${namespace}/web`,
    status: 'Running',
    isReady: true,
    explanation: [],
    unknown: [],
  });
  expect(vm.facts).toContainEqual({ label: 'Owner', value: 'VirtualMachinePool/web' });
  expect(await page.get(`/api/vms/${namespace}/web-9`)).toMatchObject({ ok: false });
});

test('a user sees and does on the page what Kubernetes lets them, and is told what not', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 1 });
  const reads = ['get', 'list', 'watch'];
  const { kubeconfig, username } = await userWith(fleet(), namespace, 'viewer', [
    { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: reads },
    { apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs: reads },
  ]);
  await using page = await Opened.start(kubeconfig, { namespace });
  await until(async () => expect(page.isSynced).toBe(true));
  const message = 'you may not list and watch them';
  expect(page.session).toMatchObject({
    user: username,
    namespaces: [namespace],
    unseen: expect.arrayContaining([
      { what: 'virtualmachineinstances', namespace, isForbidden: true, message, since: null },
      { what: 'nodes', namespace: null, isForbidden: true, message, since: null },
    ]),
  });
  expect([...page.viewer.items.keys()]).toEqual([`pool/${namespace}/web`]);
  await until(async () => expect(squares(page, namespace)).toBe('O'));
  const why = `you may not patch virtualmachinepools.drover.dev in ${namespace}`;
  await until(async () =>
    expect(cardOf(page, namespace).actions.map(({ whyNot }) => whyNot)).toEqual(expect.arrayContaining([why])),
  );
  const refused = await page.act({ action: 'rollout.pause', about: web(namespace) });
  expect(refused).toMatchObject({ ok: false, sentence: expect.stringContaining('forbidden') });
  expect(await page.get(`/api/vms/${namespace}/web-1`)).toMatchObject({
    unknown: expect.arrayContaining([expect.stringContaining("its VMI can't be read")]),
  });
  expect(await fleet().kube.get(VirtualMachines, { namespace, name: 'web-1' })).toBeDefined();
});

test('a namespace that is made later, and rights that are given later, are seen without a restart', async () => {
  const { kube } = fleet();
  const namespace = await fleet().namespace();
  const reads = ['get', 'list', 'watch'];
  const [pools, vms] = [
    { apiGroups: ['drover.dev'], resources: ['virtualmachinepools'], verbs: reads },
    { apiGroups: ['kubevirt.io'], resources: ['virtualmachines'], verbs: reads },
  ];
  const listing = { apiGroups: [''], resources: ['namespaces'], verbs: reads };
  const { kubeconfig } = await userWith(fleet(), namespace, 'viewer', [pools, vms], [listing]);
  await using page = await Opened.start(kubeconfig);
  await until(async () => expect(page.isSynced).toBe(true));
  expect(page.session?.namespaces).toEqual([namespace]);
  const unseen = { what: 'virtualmachineinstances', namespace };
  expect(page.session?.unseen).toContainEqual(expect.objectContaining(unseen));

  const later = await fleet().namespace();
  await fleet().createPool(later, 'web', { replicas: 1 });
  const rules = [pools, vms, { apiGroups: ['kubevirt.io'], resources: ['virtualmachineinstances'], verbs: reads }];
  for (const where of [later, namespace]) {
    await kube.patch(
      ROLE.role,
      { namespace: where, name: 'viewer' },
      'apply',
      { metadata: { name: 'viewer' }, rules },
      { force: true },
    );
    if (where === namespace) continue;
    const roleRef = { apiGroup: ROLE.role.group, kind: ROLE.role.kind, name: 'viewer' };
    const subjects = [{ kind: 'ServiceAccount', name: 'viewer', namespace }];
    await kube.create(ROLE.binding, { metadata: { namespace: where, name: 'viewer' }, roleRef, subjects });
  }
  await until(async () => expect(cardOf(page, later)).toBeDefined());
  expect(page.session?.namespaces).toEqual([namespace, later].toSorted());
  await until(async () => expect(page.session?.unseen).not.toContainEqual(expect.objectContaining(unseen)));
});

test('with --read-only nothing can be changed, and Ctrl-C ends the command', async () => {
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: 0 });
  const env = { ...nowhere, ...fleet().stack.env };
  const command = start(['dashboard', '-n', namespace, '--no-browser', '--read-only'], env);
  const outcome = outcomeOf(command);
  let printed = '';
  command.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await follow(command.stdout!)('\n');
  await using page = await Opened.at(printed.trim());
  await until(async () => expect(cardOf(page, namespace)).toBeDefined());
  const why = 'this dashboard was started with --read-only';
  expect(new Set(cardOf(page, namespace).actions.map(({ whyNot }) => whyNot))).toEqual(new Set([why]));
  expect(await page.act({ action: 'rollout.pause', about: web(namespace) })).toEqual({ ok: false, sentence: why });
  command.kill('SIGINT');
  expect(await outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('Ctrl-C ends it') });
});
