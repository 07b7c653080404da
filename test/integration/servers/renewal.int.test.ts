import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Finding } from '../../../clients/doctor/finding.ts';
import { drover, nowhere } from '../../clients/drover.ts';
import { chaosProxy, type Fate } from '../chaos-proxy.ts';
import { aFleet, namesUpTo, until } from '../fleet.ts';
import { tlsProxy } from '../tls-proxy.ts';

const fleet = aFleet({ simulator: false, workers: 0 });
const VMS = 40;

test('a worker whose certificate is renewed continues with the new one, in the middle of its work', async () => {
  const proxy = await tlsProxy(fleet().stack.env['TEMPORAL_ADDRESS']!);
  // One VM after another, slowly: the certificate changes in the middle.
  const { kubeconfig } = await chaosProxy(fleet().workerKubeconfig, async (method): Promise<Fate> => {
    if (method === 'POST') await sleep(200);
    return 'pass';
  });
  const worker = await fleet().startWorker({ ...proxy.env, KUBECONFIG: kubeconfig, DROVER_CONCURRENCY: '1' });
  onTestFinished(() => worker.kill());
  const namespace = await fleet().namespace();
  await fleet().createPool(namespace, 'web', { replicas: VMS });
  const uids = async (): Promise<string[]> => (await fleet().vms(namespace)).map(({ metadata }) => metadata.uid);
  const made: string[] = [];
  // The second time, activities that have begun with the first certificate use the third.
  for (const part of [1, 2]) {
    await until(async () => expect((await uids()).length).toBeGreaterThan((VMS * part) / 4));
    await proxy.renew();
    made.push(...(await uids()));
  }
  await fleet().settled(namespace, 'web', namesUpTo('web', VMS));
  expect(await uids()).toEqual(expect.arrayContaining(made));
  expect(proxy.refusals()).toBeGreaterThan(0);
  expect(await Promise.race([worker.ended, sleep(0, 'it runs')])).toBe('it runs');
  // Nor does what Temporal refuses end a worker that works.
  const refusals = proxy.refusals();
  await proxy.misplace();
  await until(async () => expect(await Promise.resolve(proxy.refusals())).toBeGreaterThan(refusals));
  await fleet().patchPool(namespace, 'web', { replicas: 10 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(10));
  await proxy.renew();
  // A command reads the files as it starts.
  const env = { ...nowhere, ...fleet().stack.env, ...proxy.env };
  const surplus = (await fleet().vmNames(namespace, 'web')).slice(3).join();
  expect(await drover(['scale', 'pool', 'web', '-n', namespace, '--remove', surplus], env)).toMatchObject({ code: 0 });
  await until(async () => expect(await fleet().vmNames(namespace, 'web')).toHaveLength(3));
  expect(await worker.stop()).toBe(0);
});

test('`drover doctor` tells a Temporal that asks for certificates from one that lets everybody in', async () => {
  const access = async (env: Record<string, string>): Promise<string | undefined> => {
    const { stdout } = await drover(['doctor', '-o', 'json'], { ...nowhere, ...fleet().stack.env, ...env });
    const { items } = JSON.parse(stdout) as { items: Finding[] };
    return items.find(({ check }) => check === 'Access to Temporal')?.outcome;
  };
  expect(await access((await tlsProxy(fleet().stack.env['TEMPORAL_ADDRESS']!)).env)).toBe('OK');
  expect(await access({})).toBe('Warning');
});
