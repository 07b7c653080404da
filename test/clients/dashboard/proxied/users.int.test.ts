import { expect, test } from 'vitest';
import { VirtualMachinePools } from '../../../../api/resources.ts';
import type { OwnerCard } from '../../../../clients/dashboard/contract/fleet.ts';
import type { ActionResult } from '../../../../clients/dashboard/contract/requests.ts';
import { KubeClient } from '../../../../kubernetes/client.ts';
import { loadKubeConfig } from '../../../../kubernetes/config.ts';
import { hasRight } from '../../../../kubernetes/rights.ts';
import { dashboardKubeconfig, kubeconfigOf, KINDS } from '../../../deploy/service-accounts.ts';
import { chaosProxy } from '../../../integration/chaos-proxy.ts';
import { aFleet, runningTemplate, until } from '../../../integration/fleet.ts';
import { of, type Answer, type Peer } from './peer.ts';
import { Proxied } from './proxied.ts';
import { grant, LOOK, STEER } from './users.ts';

const fleet = aFleet();
const account = (): Promise<string> => dashboardKubeconfig(fleet());
const ada = (namespace: string): string => `ada-${namespace}@example.com`;
const viewers = (namespace: string): string => `viewers-${namespace}`;

/** Two namespaces with a pool each: one for a user, and one for a group to look at. */
async function tenants(): Promise<{ own: string; other: string }> {
  const [own, other] = [await fleet().namespace(), await fleet().namespace()];
  for (const namespace of [own, other])
    await fleet().createPool(namespace, 'web', { replicas: 1, template: runningTemplate });
  await grant(fleet().kube, own, { kind: 'User', name: ada(own) }, STEER);
  await grant(fleet().kube, other, { kind: 'Group', name: viewers(own) }, LOOK);
  return { own, other };
}

const act = async (peer: Peer, headers: Record<string, string>, namespace: string): Promise<ActionResult> => {
  const about = { kind: 'VirtualMachinePool', namespace, name: 'web' };
  const body = { action: 'rollout.pause', about, reason: 'asked for by a test' };
  return JSON.parse((await peer.ask('/api/actions', { method: 'POST', headers, body })).body) as ActionResult;
};
const open = (peer: Peer, user: string) => peer.open('/api/stream', { headers: of(user) });
const json = ({ body }: Answer): unknown => JSON.parse(body);

test('two users on one kept connection see and do at the same time what each of them may, and no more', async () => {
  const { own, other } = await tenants();
  const proxied = await Proxied.start(await account(), { DROVER_DASHBOARD_NAMESPACES: `${own},${other}` });
  const [first, second] = [of(ada(own)), of('bob', viewers(own), 'everybody')];
  const [adas, bobs] = await Promise.all([proxied.follow(ada(own)), proxied.follow('bob', 'everybody', viewers(own))]);
  await until(async () => expect([adas.isSynced, bobs.isSynced]).toEqual([true, true]));

  const peer = proxied.peer(1);
  const sockets = new Set<unknown>();
  const owner = async (headers: Record<string, string>, namespace: string): Promise<Answer> => {
    const answer = await peer.ask(`/api/owners/VirtualMachinePool/${namespace}/web`, { headers });
    sockets.add(answer.socket);
    return answer;
  };
  for (let time = 0; time < 5; time++) {
    const [a1, b1, a2, b2] = await Promise.all([
      owner(first, own),
      owner(second, own),
      owner(first, other),
      owner(second, other),
    ]);
    expect([a1.status, b1.status, a2.status, b2.status]).toEqual([200, 409, 409, 200]);
    expect(b1.body).toContain(`User \\"bob\\" cannot get resource`);
    expect(a2.body).toContain(`User \\"${ada(own)}\\" cannot get resource`);
  }
  expect(sockets.size).toBe(1);
  const sessions = await Promise.all([first, second].map((headers) => peer.ask('/api/session', { headers })));
  expect(sessions.map(json)).toMatchObject([
    { user: ada(own), namespaces: [own] },
    { user: 'bob', namespaces: [other] },
  ]);

  expect(adas.viewer.shown).toEqual([`pool/${own}/web`]);
  expect(bobs.viewer.shown).toEqual([`pool/${other}/web`]);
  const whyNot = ({ viewer }: typeof adas, namespace: string) =>
    (viewer.items.get(`pool/${namespace}/web`) as OwnerCard).actions.find(({ name }) => name === 'rollout.pause')
      ?.whyNot;
  await until(async () => expect(whyNot(adas, own)).toBeNull());
  await until(async () => expect(whyNot(bobs, other)).toContain('you may not patch'));

  const [done, foreign, refused] = await Promise.all([
    act(peer, first, own),
    act(peer, second, own),
    act(peer, second, other),
  ]);
  expect(done).toMatchObject({ ok: true });
  expect(foreign).toMatchObject({ ok: false, sentence: expect.stringContaining('bob') });
  expect(refused).toMatchObject({ ok: false, sentence: expect.stringContaining('cannot patch') });
  const { paused } = (await fleet().pool(own, 'web'))!.status!.rollout!;
  expect(paused).toMatchObject({ by: ada(own), reason: 'asked for by a test' });
});

test('the account does nothing by itself, and nothing is asked in the name of whom Kubernetes reserves', async () => {
  const { own } = await tenants();
  const kubeconfig = await account();
  const itself = new KubeClient(loadKubeConfig({ kubeconfig }));
  for (const path of [
    '/api/v1/namespaces',
    '/apis/drover.dev/v1alpha1/virtualmachinepools',
    `/apis/kubevirt.io/v1/namespaces/${own}/virtualmachines`,
    `/api/v1/namespaces/${own}/secrets`,
  ])
    await expect(itself.request({ method: 'GET', path })).rejects.toMatchObject({ status: expect.any(Number) });
  const to = new KubeClient(loadKubeConfig({ kubeconfig }), {
    impersonate: { user: `system:serviceaccount:${own}:default`, groups: [] },
  });
  await expect(to.request({ method: 'GET', path: '/api/v1/nodes' })).rejects.toThrow('cannot impersonate');
  await Promise.all([itself.close(), to.close()]);

  const chaos = await chaosProxy(kubeconfig, () => 'pass');
  const proxied = await Proxied.start(chaos.kubeconfig);
  for (const headers of [
    of('system:admin'),
    of('ada', 'system:masters'),
    of('system:serviceaccount:drover:drover-worker'),
  ])
    for (const path of ['/api/session', '/api/stream'])
      expect(await proxied.peer().ask(path, { headers })).toMatchObject({ status: 403 });
  expect(chaos.calls).toEqual([]);
});

test('what may stand between drops who asks: then nobody is answered, instead of all as the account itself', async () => {
  const { own } = await tenants();
  const chaos = await chaosProxy(await account(), () => 'pass');
  // This proxy joins the lines of groups to one, as careless ones do.
  const proxied = await Proxied.start(chaos.kubeconfig, { DROVER_DASHBOARD_NAMESPACES: own });
  const answer = await proxied.peer().ask('/api/session', { headers: of(ada(own), 'a', 'b') });
  expect(answer).toMatchObject({ status: 403, body: expect.stringContaining('drop the headers about users') });
  expect(await proxied.peer().ask('/api/session', { headers: of(ada(own)) })).toMatchObject({ status: 200 });
});

test('an account that may ask only for some is told so by Kubernetes, and so is the user', async () => {
  const { own } = await tenants();
  const name = `narrow-${own}`;
  const { kube } = fleet();
  const rules = [{ apiGroups: [''], resources: ['users'], resourceNames: [ada(own)], verbs: ['impersonate'] }];
  await kube.create(KINDS['ServiceAccount']!, { metadata: { namespace: own, name } });
  await kube.create(KINDS['ClusterRole']!, { metadata: { name }, rules });
  await kube.create(KINDS['ClusterRoleBinding']!, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', namespace: own, name }],
  });
  const proxied = await Proxied.start(await kubeconfigOf(fleet(), name, own), { DROVER_DASHBOARD_NAMESPACES: own });
  const ask = (...who: [string, ...string[]]) => proxied.peer().ask('/api/session', { headers: of(...who) });
  expect(await ask(ada(own))).toMatchObject({ status: 200 });
  const refused = { status: 403, body: expect.stringContaining('cannot impersonate resource') };
  expect(await ask('bob')).toMatchObject(refused);
  expect(await ask(ada(own), 'ops')).toMatchObject(refused);
});

test('browsers of a user share a fleet, which goes when none looks; more users than may are told so', async () => {
  const { own } = await tenants();
  const env = { DROVER_DASHBOARD_NAMESPACES: own, DROVER_DASHBOARD_MOST_USERS: '2', DROVER_HEALTH_PORT: '0' };
  // On a busy machine, a browser takes a while to open its stream.
  const proxied = await Proxied.start(await account(), env, { lingerMs: 5_000 });
  const counted = async (name: string): Promise<string | undefined> => {
    const text = await (await fetch(`http://127.0.0.1:${proxied.dashboard.healthPort}/metrics`)).text();
    return new RegExp(`^drover_dashboard_${name}\\{cluster="[^"]+"\\} (\\d+)$`, 'm').exec(text)?.[1];
  };
  const [one, two] = [proxied.peer(), proxied.peer()];
  const adas = [await open(one, ada(own)), await open(two, ada(own))];
  const bobs = await open(two, 'bob');
  await until(async () => expect([await counted('users'), await counted('streams')]).toEqual(['2', '3']));
  const third = await proxied.peer().ask('/api/session', { headers: of('eve') });
  expect(third).toMatchObject({
    status: 503,
    body: expect.stringContaining('2 users are on this dashboard, which is the maximum: try again later'),
  });
  // The same user in other groups is another one, with other rights.
  expect(await proxied.peer().ask('/api/session', { headers: of(ada(own), 'ops') })).toMatchObject({ status: 503 });
  bobs.destroy();
  adas[0]!.destroy();
  await until(async () => expect([await counted('users'), await counted('streams')]).toEqual(['1', '1']));
  expect(await proxied.peer().ask('/api/session', { headers: of('eve') })).toMatchObject({ status: 200 });
});

test('a stream ends after its time, and whoever asks again gets what they may see', async () => {
  const { own } = await tenants();
  const proxied = await Proxied.start(await account(), { DROVER_DASHBOARD_NAMESPACES: own }, { streamMs: 300 });
  const peer = proxied.peer();
  const seenBy = async (headers: Record<string, string>): Promise<string> => {
    let text = '';
    const response = await peer.open('/api/stream', { headers });
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
    return text;
  };
  await seenBy(of(ada(own)));
  expect(await seenBy(of(ada(own)))).toContain('"isWhole":true');
  const others = await seenBy(of('bob'));
  expect(others).toContain('"isWhole":true');
  expect(others).not.toContain('web');
});

test('what the API server no longer lets a user see goes from the page', async () => {
  const { own } = await tenants();
  const chaos = await chaosProxy(await account(), () => 'pass');
  const proxied = await Proxied.start(chaos.kubeconfig, { DROVER_DASHBOARD_NAMESPACES: own });
  const before = await proxied.follow(ada(own));
  await until(async () => expect(before.viewer.shown).toEqual([`pool/${own}/web`]));
  const { items } = await fleet().kube.list(KINDS['RoleBinding']!, { namespace: own });
  for (const { metadata } of items)
    await fleet().kube.delete(KINDS['RoleBinding']!, { namespace: own, name: metadata.name });
  const impersonate = { user: ada(own), groups: [] };
  const adas = new KubeClient(loadKubeConfig({ kubeconfig: await account() }), { impersonate });
  const right = { verb: 'watch', resource: VirtualMachinePools } as const;
  await until(async () => expect(await hasRight(adas, right, own)).toBe(false));
  await adas.close();
  // Watches go on until they end, after five minutes or as their connections do.
  chaos.cut();
  await until(async () => expect(before.isEnded).toBe(true));
  const after = await proxied.follow(ada(own));
  await until(async () => expect(after.isSynced).toBe(true));
  expect([...after.viewer.items.keys()]).toEqual([]);
});
