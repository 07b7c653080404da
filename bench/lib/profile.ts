import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As V8's profiler gives it: time is in microseconds. */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  timeDeltas: number[];
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SAMPLED_EACH_US = 500;
/** Of all folders, those are told that take the most. */
const MOST_TOLD = 14;

/**
 * Returns which folders a Node process computes in while `work` runs, in milliseconds of its main thread, most first.
 * `port`: of its inspector. The threads of Temporal's SDK, in which workflows run, are not among them.
 */
export async function profileOf(port: number, work: () => Promise<void>): Promise<Map<string, number>> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as [Record<string, string>];
  const inspector = new Inspector(new WebSocket(targets[0]['webSocketDebuggerUrl']!));
  try {
    await inspector.opened;
    await inspector.call('Profiler.enable');
    await inspector.call('Profiler.setSamplingInterval', { interval: SAMPLED_EACH_US });
    await inspector.call('Profiler.start');
    await work();
    const { profile } = (await inspector.call('Profiler.stop')) as { profile: Profile };
    return byFolder(profile);
  } finally {
    inspector.close();
  }
}

/** For each of so many VMs: `16.2: activities/disruption 3.1, decisions/rollout 2.0`. */
export function formatProfile(profile: Map<string, number>, vms: number): string {
  const all = [...profile.values()].reduce((sum, ms) => sum + ms, 0);
  const told = [...profile].slice(0, MOST_TOLD).map(([folder, ms]) => `${folder} ${(ms / vms).toFixed(2)}`);
  return `${(all / vms).toFixed(1)}: ${told.join(', ')}`;
}

function byFolder({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const folders = new Map(nodes.map(({ id, callFrame }) => [id, folderOf(callFrame)]));
  const sums = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const folder = folders.get(id)!;
    if (folder !== null) sums.set(folder, (sums.get(folder) ?? 0) + timeDeltas[index]! / 1000);
  }
  return new Map([...sums].sort(([, a], [, b]) => b - a));
}

/** The folder of a function's file, or the library; null if the thread does nothing. */
function folderOf({ functionName, url }: Profile['nodes'][number]['callFrame']): string | null {
  if (functionName === '(idle)') return null;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (url === '') return 'outside of JavaScript';
  if (url.startsWith('node:')) return 'node';
  const path = relative(ROOT, url.startsWith('file:') ? fileURLToPath(url) : url);
  const library = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  return library ?? path.split('/').slice(0, -1).slice(0, 2).join('/');
}

/** Speaks to a process's inspector. */
class Inspector {
  readonly opened: Promise<unknown>;
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (result: unknown) => void>();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.opened = new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown };
      this.#answers.get(id)?.(result);
    });
  }

  call(method: string, params = {}): Promise<unknown> {
    const id = this.#answers.size + 1;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  close(): void {
    this.#socket.close();
  }
}
