import { nowhere, outcomeOf, start, type Outcome } from '../../clients/drover.ts';
import { droverHere } from '../../clients/in-process.ts';
import { isSoak } from '../../soak.ts';
import { startChaosProxy } from '../chaos-proxy.ts';
import type { TestFleet } from '../fleet.ts';

const environment = ({ stack }: TestFleet): NodeJS.ProcessEnv => ({
  ...nowhere,
  ...stack.env,
  DROVER_REQUESTED_BY: 'ada',
});

/** Runs the command, as a user does. */
export const run = (fleet: TestFleet, namespace: string, ...args: string[]): Promise<Outcome> =>
  droverHere([...args, '-n', namespace], environment(fleet));

/** A call of the command on the API server: its method, and its path with the query. */
export type Call = (method: string, path: string) => boolean;

/** A write to the object that this path ends with. */
export const writeTo =
  (...path: string[]): Call =>
  (method, url) =>
    method !== 'GET' && url.split('?')[0]!.endsWith(`/${path.join('/')}`);

/**
 * Runs the command, and kills it right before the first call that is `last`, which does not reach the API server: what
 * it did until then is done, and no more. Returns its outcome, whose `signal` is null if it ended without that call.
 */
export async function killedBefore(fleet: TestFleet, namespace: string, args: string[], last: Call): Promise<Outcome> {
  const proxy = await startChaosProxy(fleet.stack.kubeconfig, (method, path) => {
    if (!child.killed && !last(method, path)) return 'pass';
    child.kill('SIGKILL');
    return 'hang';
  });
  const child = start([...args, '-n', namespace], { ...environment(fleet), KUBECONFIG: proxy.kubeconfig });
  child.stdin!.end();
  try {
    return await outcomeOf(child);
  } finally {
    proxy.close();
  }
}

/** What tells a write from others: a soak run kills before each, any other before one for VMs that differ by number. */
const kindOfWrite = (method: string, path: string, count: number): string =>
  isSoak ? `${method} ${path} ${count}` : `${method} ${path.replaceAll(/-\d+(?=[/?]|$)/g, '-N')}`;

/**
 * Kills the command before each kind of write that it does, and runs it again each time, until it ends by itself.
 * `check` is called after each kill. Returns how often the command was killed, and its last outcome.
 */
export async function killedBeforeEachWrite(
  fleet: TestFleet,
  namespace: string,
  args: string[],
  check: () => void,
): Promise<{ kills: number; outcome: Outcome }> {
  const met = new Set<string>();
  for (;;) {
    const counts = new Map<string, number>();
    const outcome = await killedBefore(fleet, namespace, args, (method, path) => {
      // The API server keeps nothing of an access review.
      if (method === 'GET' || path.includes('accessreviews')) return false;
      const write = `${method} ${path}`;
      const count = (counts.get(write) ?? 0) + 1;
      counts.set(write, count);
      const kind = kindOfWrite(method, path, count);
      const isNew = !met.has(kind);
      met.add(kind);
      return isNew;
    });
    if (outcome.signal === null) return { kills: met.size, outcome };
    check();
  }
}
