import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultCache } from '../../dev/paths.ts';
import { resolveTools } from '../../dev/tools/resolve.ts';
import packageLock from '../../package-lock.json' with { type: 'json' };
import { aFleet, namesUpTo, until } from '../integration/fleet.ts';
import { freePort } from '../integration/free-port.ts';
import { readCompose, type ComposeService } from './compose.ts';
import { ended, Image } from './image.ts';

const run = promisify(execFile);
const fleet = aFleet({ workers: 0 });
const { services } = readCompose('docker-compose.yml') as {
  services: Record<'temporal' | 'temporal-namespace' | 'setup' | 'worker', ComposeService>;
};

// An image holds Linux programs, whatever machine builds it.
describe.runIf(process.platform === 'linux')('the image', () => {
  let image: Image;
  // npm may have to fetch everything in the lock file.
  beforeAll(() => {
    image = new Image();
  }, 300_000);
  afterAll(() => image?.remove());

  test('holds what the program needs, and nothing of what makes or tests it', () => {
    const packages = Object.entries(packageLock.packages as Record<string, { dev?: boolean }>);
    const made = packages.filter(([path, { dev = false }]) => dev && existsSync(image.path(join('app', path))));
    expect(made).toEqual([]);
    expect(readdirSync(image.path('app')).toSorted()).toEqual([
      'chunks',
      'dashboard',
      'drover.mjs',
      'failure-converter.mjs',
      'healthcheck.mjs',
      'node_modules',
      'workflows-with-codecs.js',
      'workflows.js',
    ]);
    expect(readdirSync(image.path('app/node_modules/@temporalio/core-bridge/releases'))).toHaveLength(1);
    expect(readdirSync(image.path('app/node_modules/@swc')).filter((name) => name.startsWith('core-'))).toEqual([]);
  });

  test('lists the available commands for an unknown command, and fails', async () => {
    expect(await ended(image.start(['wroker']))).toMatchObject({
      code: 2,
      output: expect.stringContaining('worker') as string,
    });
  });

  test('says where the embedded stack is available', async () => {
    const { code, output } = await ended(image.start(['dev']));
    expect(code).toBe(1);
    expect(output).toMatch(/^error: drover dev .* clone of the repository\n$/);
  });

  test('has the page of the dashboard, as browsers take it', async () => {
    const kubeconfig = image.path('kubeconfig');
    copyFileSync(fleet().stack.kubeconfig, kubeconfig);
    chmodSync(kubeconfig, 0o644);
    const dashboard = image.start(['dashboard', '--no-browser'], { KUBECONFIG: kubeconfig });
    const [printed] = (await once(dashboard.stdout!, 'data')) as [Buffer];
    const read = async (path: string): Promise<string> => (await fetch(new URL(path, printed.toString()))).text();
    expect(await read('/')).toContain('importmap');
    expect(await read('/page/main.ts')).toContain('import ');
    expect(await read('/lib/lit-html/lit-html.js')).toContain('export');
    dashboard.kill('SIGTERM');
    expect(await once(dashboard, 'close')).toEqual([0, null]);
  });

  test('sets up, manages a pool, reports that it is ready, and ends well when asked to', async () => {
    const { setup, worker } = services;
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

    expect(await ended(image.start(setup.command, environmentOf(setup)))).toEqual({
      code: 0,
      output: expect.any(String) as string,
    });

    const env = environmentOf(worker);
    const healthcheck = async (): Promise<number | null> =>
      (await ended(image.exec(worker.healthcheck!.test!.slice(1), env))).code;
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

test("the compose file makes Temporal's namespace, and finds it when it starts again", async () => {
  const { temporal } = await resolveTools({ cache: defaultCache(), onProgress: () => {} });
  const programs = mkdtempSync(join(fleet().stack.state, 'programs-'));
  symlinkSync(temporal, join(programs, 'temporal'));
  const TEMPORAL_ADDRESS = fleet().stack.temporalAddress;
  const { entrypoint = [], command = [], environment } = services['temporal-namespace'];
  const env = {
    ...environment,
    HOME: programs,
    PATH: [programs, process.env['PATH']].join(delimiter),
    TEMPORAL_ADDRESS,
    TEMPORAL_NAMESPACE: 'fleets',
  };
  const [shell = '', ...args] = [...entrypoint, ...command];
  const made = await run(shell, args, { env, timeout: 60_000 });
  expect(made.stdout).toContain('Namespace fleets successfully registered');
  const again = await run(shell, args, { env, timeout: 60_000 });
  expect(again.stdout).not.toContain('registered');

  const isHealthy = (address: string): Promise<unknown> => {
    const [, program = '', ...words] = services.temporal.healthcheck!.test!;
    return run(
      program,
      words.map((word) => word.replace('127.0.0.1:7233', address)),
      { env },
    );
  };
  await isHealthy(TEMPORAL_ADDRESS);
  await expect(isHealthy('127.0.0.1:1')).rejects.toMatchObject({ code: 1 });
});
