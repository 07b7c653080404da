import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ProcessReaper } from '../../../dev/process/reaper.ts';
import { Service, StartFailed, type ServiceSpec } from '../../../dev/process/service.ts';
import { living } from '../stacks.ts';

let folder: string;
let reaper: ProcessReaper;
let progress: string[];
let services: Service[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drover-service-'));
  reaper = new ProcessReaper();
  progress = [];
  services = [];
});
afterEach(async () => {
  await Promise.all(services.map((service) => service.stop('SIGKILL')));
  reaper.release();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns a service of a shell script that is ready when it prints so. */
function shell(script: string, more: Partial<ServiceSpec> & { restarts?: boolean } = {}): Service {
  const { restarts = false, ...spec } = more;
  const service = new Service(
    {
      name: 'script',
      launch: { command: '/bin/sh', args: ['-c', script], cwd: folder, env: process.env },
      isReady: (log) => log.includes('ready'),
      readyWithin: 20,
      stopWithin: 20,
      stopSignal: 'SIGTERM',
      ...spec,
    },
    {
      logFile: join(folder, 'log'),
      reaper,
      restarts,
      onProgress: (line) => void progress.push(line),
      onChange: () => {},
    },
  );
  services.push(service);
  return service;
}

const pidOf = (service: Service): number => service.identity!.pid;

test('a service is started when it says that it is ready, and gone when it is stopped', async () => {
  const service = shell('sleep 0.2; echo ready; sleep 60');
  await service.start();
  const pid = pidOf(service);
  expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('ready\n');
  await service.stop();
  expect(living([pid])).toEqual([]);
  expect(service.identity).toBeUndefined();
});

test('a service that ends at once is an error, however fast it was', async () => {
  for (let attempt = 0; attempt < 40; attempt++) {
    const failed = shell('', {
      launch: { command: '/bin/sh', args: ['-c', 'echo no such flag >&2; exit 3'], cwd: folder, env: {} },
    }).start();
    await expect(failed).rejects.toThrow(
      `script ended before it was ready (exit code 3); the last lines of ${folder}/log:\n  no such flag`,
    );
  }
});

test('a missing program is reported', async () => {
  const failed = shell('', { launch: { command: join(folder, 'none'), args: [], cwd: folder, env: {} } }).start();
  await expect(failed).rejects.toThrow(
    `script ended before it was ready (spawn ${folder}/none ENOENT); it logged nothing to`,
  );
});

test('a service that does not become ready in time is ended, and its log is in the error', async () => {
  const service = shell('echo $$; echo still trying; sleep 60', { readyWithin: 1 });
  const error: unknown = await service.start().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StartFailed);
  expect((error as StartFailed).message).toMatch(
    /^script was not ready within 1 s; the last lines of .*\n {2}\d+\n {2}still trying$/,
  );
  expect(living([Number((error as StartFailed).log.split('\n')[0])])).toEqual([]);
});

test('the log of an earlier run does not make it ready', async () => {
  const first = shell('echo ready; sleep 60');
  await first.start();
  await first.stop();
  await expect(shell('echo again; sleep 60', { readyWithin: 1 }).start()).rejects.toThrow(/:\n {2}again$/);
});

test('a service that does not act on its stop signal is killed', async () => {
  const service = shell("trap '' TERM; echo ready; while :; do sleep 1; done", { stopWithin: 0.3 });
  await service.start();
  const pid = pidOf(service);
  await service.stop();
  expect(living([pid])).toEqual([]);
});

test('a process that it has started itself ends with it', async () => {
  const service = shell('sleep 61 & echo $!; echo ready; wait');
  await service.start();
  const grandchild = Number(readFileSync(join(folder, 'log'), 'utf8').split('\n')[0]);
  expect(living([grandchild])).toEqual([grandchild]);
  await service.stop();
  await expect.poll(() => living([grandchild]), { timeout: 20_000 }).toEqual([]);
});

test('a service is started again when it ends by itself, later each time, and not once it was stopped', async () => {
  const service = shell('echo ready; exec sleep 60', { restarts: true });
  await service.start();
  for (const [turn, delay] of ['0.2', '0.4'].entries()) {
    const pid = pidOf(service);
    service.kill('SIGKILL');
    await expect.poll(() => progress.length, { timeout: 20_000 }).toBe(2 * turn + 2);
    expect(progress.at(-1)).toMatch(/^script is back/);
    expect(progress.at(-2)).toBe(`script (pid ${pid}) ended (SIGKILL); it starts again in ${delay} s`);
  }
  const said = progress.length;
  await service.stop();
  expect(progress).toHaveLength(said);
  expect(service.identity).toBeUndefined();
});

test('a service may be stopped while it waits to start again', async () => {
  const service = shell('echo ready; exec sleep 60', { restarts: true });
  await service.start();
  service.kill('SIGKILL');
  await expect.poll(() => progress.length, { timeout: 20_000 }).toBe(1);
  await service.stop();
  expect(service.identity).toBeUndefined();
  await service.start();
  expect(living([pidOf(service)])).toHaveLength(1);
});
