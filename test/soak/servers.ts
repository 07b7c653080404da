import { join } from 'node:path';
import { buildPrograms } from '../../deploy/build.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { pathsOf } from '../../dev/paths.ts';
import { ProcessReaper } from '../../dev/process/reaper.ts';
import { Service } from '../../dev/process/service.ts';
import { worker } from '../../dev/services/simulator-and-worker.ts';
import { startStack } from '../../dev/stack.ts';
import { TRACE } from './requests.ts';

const SERVERS = ['temporal', 'kube-apiserver', 'simulator'] as const;
const WORKERS = ['worker 1', 'worker 2'] as const;
export type Victim = (typeof SERVERS)[number] | (typeof WORKERS)[number];

/** The servers, and two workers. Each starts again by itself once it is killed, after a while if that was soon. */
export class Servers {
  readonly stack: Stack;
  /** Into how many the cluster is divided. */
  shards = '1';
  readonly trace: string;
  readonly #programs: string;
  readonly #reaper = new ProcessReaper();
  readonly #workers = new Map<Victim, Service<Victim>>();
  readonly #onProgress: (line: string) => void;
  readonly #down: Set<string>;

  private constructor(stack: Stack, programs: string, onProgress: (line: string) => void, down: Set<string>) {
    this.stack = stack;
    this.#down = down;
    this.trace = join(stack.state, 'trace.jsonl');
    this.#programs = programs;
    this.#onProgress = onProgress;
  }

  /** `folder`: for all files. `told`: is told of each process that ends and is back. */
  static async start(folder: string, told: (line: string) => void): Promise<Servers> {
    const down = new Set<string>();
    const onProgress = (line: string): void => {
      const [, name, is] = /^(.+?) (?:\(pid \d+\) )?(ended|is back)/.exec(line) ?? [];
      if (is === 'ended') down.add(name!);
      if (is === 'is back') down.delete(name!);
      told(line);
    };
    const programs = join(folder, 'programs');
    await buildPrograms(programs, { worker: 'test/soak/traced-worker.ts', simulator: 'simulator/main.ts' });
    const simulatorProgram = join(programs, 'simulator.mjs');
    const stack = await startStack({ state: join(folder, 's'), worker: false, simulatorProgram, onProgress });
    return new Servers(stack, programs, onProgress, down);
  }

  /** Path of the socket of etcd. */
  get etcd(): string {
    return join(pathsOf(this.stack.state).data, 'etcd.sock:0');
  }

  async startWorkers(): Promise<void> {
    const env = {
      ...this.stack.env,
      DROVER_WORKFLOW_BUNDLE: join(this.#programs, 'workflows.js'),
      NODE_COMPILE_CACHE: join(this.#programs, 'compiled'),
      [TRACE]: this.trace,
      DROVER_SHARDS: this.shards,
    };
    const { launch, ...spec } = worker({ env });
    const args = [join(this.#programs, 'worker.mjs')];
    for (const name of WORKERS) {
      const logFile = join(this.stack.state, 'logs', `${name.replace(' ', '-')}.log`);
      const context = {
        logFile,
        reaper: this.#reaper,
        restarts: true,
        onProgress: this.#onProgress,
        onChange: () => {},
      };
      this.#workers.set(name, new Service({ ...spec, name, launch: { ...launch, args } }, context));
    }
    await Promise.all([...this.#workers.values()].map((one) => one.start()));
  }

  /** Those that run, or start. */
  get up(): Victim[] {
    const there = new Set<string>(this.stack.processes.map(({ name }) => name));
    const workers = WORKERS.filter((name) => this.#workers.get(name)?.identity !== undefined);
    return [...SERVERS.filter((name) => there.has(name)), ...workers];
  }

  /** Whether all are ready. */
  get areUp(): boolean {
    return this.#down.size === 0;
  }

  kill(victim: Victim): void {
    this.#down.add(victim);
    const one = this.#workers.get(victim);
    if (one === undefined) this.stack.kill(victim as (typeof SERVERS)[number], 'SIGKILL');
    else one.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((one) => one.stop('SIGKILL')));
    this.#reaper.release();
    await this.stack.stop();
  }
}
