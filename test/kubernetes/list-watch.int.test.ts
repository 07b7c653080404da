import { expect, test } from 'vitest';
import type { KubeObject } from '../../api/objects.ts';
import { ConfigMaps } from '../../api/resources.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { ListWatch } from '../../kubernetes/list-watch.ts';
import { chaosProxy, type Fate } from '../integration/chaos-proxy.ts';
import { aFleet, until } from '../integration/fleet.ts';

const fleet = aFleet({ simulator: false, workers: 0 });

interface Followed {
  names: () => string[];
  errors: string[];
  missed: number[];
  watch: ListWatch<KubeObject, string>;
  proxy: { calls: string[]; cut: () => void };
}

async function follow(
  namespace: string,
  fate: (method: string, path: string) => Fate,
  relistMs = 600_000,
): Promise<Followed> {
  const proxy = await chaosProxy(fleet().workerKubeconfig, fate);
  const client = new KubeClient(loadKubeConfig({ kubeconfig: proxy.kubeconfig }));
  const errors: string[] = [];
  const missed: number[] = [];
  const watch = new ListWatch<KubeObject, string>({
    client,
    resource: ConfigMaps,
    namespace,
    view: (object) => object.metadata.name,
    onError: (error) => errors.push(error.message),
    onMissed: (count) => missed.push(count),
    relistMs,
  }).start();
  return { names: () => [...watch.values()].toSorted(), errors, missed, watch, proxy };
}

const create = (namespace: string, name: string) => fleet().kube.create(ConfigMaps, { metadata: { namespace, name } });
const remove = (namespace: string, name: string) => fleet().kube.delete(ConfigMaps, { namespace, name });

test('the watch lists in pages and follows what comes, changes and goes', async () => {
  const namespace = await fleet().namespace();
  await Promise.all(Array.from({ length: 1_100 }, (_, index) => create(namespace, `c-${index}`)));
  const { watch, proxy, names } = await follow(namespace, () => 'pass');
  await watch.ready();
  expect(watch.size).toBe(1_100);
  expect(proxy.calls.filter((call) => call.startsWith('GET')).length).toBeGreaterThanOrEqual(3);
  await Promise.all([create(namespace, 'another'), remove(namespace, 'c-7')]);
  await until(async () => expect(names()).toContain('another'));
  await until(async () => expect(names()).not.toContain('c-7'));
  await watch.stop();
});

test('a version that a write returned is reached, and a version that never comes is not waited for for ever', async () => {
  const namespace = await fleet().namespace();
  const { watch } = await follow(namespace, () => 'pass');
  await watch.ready();
  const { metadata } = await create(namespace, 'late');
  expect(await watch.reached(BigInt(metadata.resourceVersion), 10_000)).toBe(true);
  expect(watch.get(`${namespace}/late`)).toBe('late');
  expect(await watch.reached(BigInt(metadata.resourceVersion) + 1_000_000n, 200)).toBe(false);
  await watch.stop();
});

test('the watch misses nothing of a server that fails at first, and cuts every watch', async () => {
  const namespace = await fleet().namespace();
  let calls = 0;
  const { watch, names, errors, proxy } = await follow(namespace, () => (++calls <= 3 ? { status: 500 } : 'pass'));
  await watch.ready();
  expect(errors.length).toBeGreaterThanOrEqual(3);
  for (const name of ['one', 'two', 'three']) {
    proxy.cut();
    await create(namespace, name);
    await until(async () => expect(names()).toContain(name));
  }
  proxy.cut();
  await remove(namespace, 'two');
  await until(async () => expect(names()).not.toContain('two'));
  await watch.stop();
});

test('the watch lists again after the server has forgotten its version, and sees what went meanwhile', async () => {
  const namespace = await fleet().namespace();
  await create(namespace, 'goes');
  let gone = false;
  const { watch, names, proxy } = await follow(namespace, (_method, path) =>
    gone && path.includes('watch=true') ? { status: 410 } : 'pass',
  );
  await watch.ready();
  gone = true;
  proxy.cut();
  await remove(namespace, 'goes');
  await create(namespace, 'comes');
  await until(async () => expect(names()).toContain('comes'));
  expect(names()).not.toContain('goes');
  await watch.stop();
});

test('a change that the watch never reported is found by the next list, and counted', async () => {
  const namespace = await fleet().namespace();
  // Every watch hangs silently.
  const { watch, names, missed } = await follow(
    namespace,
    (_method, path) => (path.includes('watch=true') ? 'hang' : 'pass'),
    1_000,
  );
  await watch.ready();
  await create(namespace, 'silent');
  await watch.relist();
  expect(names()).toContain('silent');
  expect(missed.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(1);
  await watch.stop();
});
