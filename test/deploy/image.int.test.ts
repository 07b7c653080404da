import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageLock from '../../package-lock.json' with { type: 'json' };
import { aFleet, namesUpTo, until } from '../fleet/fleet.ts';
import { readCompose, type ComposeService } from './compose.ts';
import { ended, Image } from './image.ts';

// An image holds Linux programs, whatever machine it is built on.
describe.runIf(process.platform === 'linux')('the image', () => {
  const fleet = aFleet({ workers: 0 });
  let image: Image;
  beforeAll(() => {
    image = new Image();
  });
  afterAll(() => image?.remove());

  test('holds what the program needs, and nothing of what makes or tests it', () => {
    const packages = Object.entries(packageLock.packages as Record<string, { dev?: boolean }>);
    const made = packages.filter(([path, { dev = false }]) => dev && existsSync(image.path(join('app', path))));
    expect(made).toEqual([]);
    expect(readdirSync(image.path('app')).filter((name) => ['test', 'bench', 'docs', '.git'].includes(name))).toEqual([]);
    expect(readdirSync(image.path('app/node_modules/@temporalio/core-bridge/releases'))).toHaveLength(1);
  });

  test('says of a command that is none what there is, and fails', async () => {
    expect(await ended(image.start(['wroker']))).toMatchObject({ code: 2, output: expect.stringContaining('worker') as string });
  });

  test('sets up, works a pool, tells that it is ready, and ends well when it is asked to', async () => {
    const { setup, worker } = readCompose('docker-compose.yml').services as Record<'setup' | 'worker', ComposeService>;
    const port = await freePort();
    const environmentOf = ({ environment = {} }: ComposeService): Record<string, string> => {
      const kubeconfig = image.path(environment['KUBECONFIG']!);
      mkdirSync(dirname(kubeconfig), { recursive: true });
      copyFileSync(fleet().stack.kubeconfig, kubeconfig);
      chmodSync(kubeconfig, 0o644);
      return {
        ...environment,
        KUBECONFIG: kubeconfig,
        TEMPORAL_ADDRESS: fleet().stack.temporalAddress,
        DROVER_HEALTH_ADDRESS: '127.0.0.1',
        DROVER_HEALTH_PORT: String(port),
      };
    };

    expect(await ended(image.start(setup.command, environmentOf(setup)))).toEqual({ code: 0, output: expect.any(String) as string });

    const env = environmentOf(worker);
    const healthcheck = async (): Promise<number | null> => (await ended(image.exec(worker.healthcheck!.test!.slice(1), env))).code;
    expect(await healthcheck()).toBe(1);
    const running = image.start(worker.command, env);
    const end = ended(running);
    await until(async () => {
      if (running.exitCode !== null) throw new Error((await end).output);
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    });
    expect(await healthcheck()).toBe(0);

    const namespace = await fleet().namespace();
    await fleet().createPool(namespace, 'web', { replicas: 5 });
    await fleet().settled(namespace, 'web', namesUpTo('web', 5));

    running.kill('SIGTERM');
    expect(await end).toEqual({ code: 0, output: expect.stringContaining('worker ready') as string });
    expect(await healthcheck()).toBe(1);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
