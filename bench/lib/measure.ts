import { readdirSync, readFileSync } from 'node:fs';
import type { Bench } from './stack.ts';

/** What the benches have in common: how they make many requests, and how they measure processes and histories. */

/** Concurrent requests, as many as a worker makes at most. */
export const CONNECTIONS = 64;

/** The kernel's unit of CPU time. */
const TICKS_A_SECOND = 100;

/** Calls for each item, over `CONNECTIONS` connections. */
export async function each<T>(items: readonly T[], call: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0;
  const connection = async (): Promise<void> => {
    while (next < items.length) await call(items[next++]!);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

interface ProcessStat {
  command: string;
  parent: number;
  /** Seconds of user and system time. */
  cpu: number;
}

function statOf(pid: number): ProcessStat {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  return { command, parent: Number(fields[1]), cpu: ticks / TICKS_A_SECOND };
}

/** User and system time since the worker's start, in seconds. */
export const cpuOf = ({ workerPid }: Bench): number => statOf(workerPid).cpu;

/** The worker's resident memory in MiB: now, and the peak so far. */
export function memoryOf({ workerPid }: Bench): { now: number; most: number } {
  const status = readFileSync(`/proc/${workerPid}/status`, 'utf8');
  const mib = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)![1]) / 1024;
  return { now: mib('VmRSS'), most: mib('VmHWM') };
}

/** Which process uses the CPU, of all that the bench has started, itself included. */
export class CpuUse {
  readonly #workerPid: number;
  readonly #before: Map<string, number>;

  constructor({ workerPid }: Bench) {
    this.#workerPid = workerPid;
    this.#before = this.#now();
  }

  /** Milliseconds of CPU for each of so many VMs since this was made, most first: `kube-apiserver 20.1, worker 9.4`. */
  format(vms: number): string {
    return [...this.each(vms)].map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ');
  }

  /** The same by what the process is. */
  each(vms: number): Map<string, number> {
    const used = [...this.#now()].map(([name, cpu]) => [name, cpu - (this.#before.get(name) ?? 0)] as const);
    const most = used.filter(([, cpu]) => cpu > 0).sort(([, a], [, b]) => b - a);
    return new Map(most.map(([name, cpu]) => [name, (cpu * 1000) / vms]));
  }

  /** Seconds since the start of each process, by what it is. */
  #now(): Map<string, number> {
    const stats = new Map<number, ProcessStat>();
    for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger))
      try {
        stats.set(pid, statOf(pid));
      } catch {
        // It has just ended.
      }
    const isOurs = (pid: number): boolean => pid === process.pid || (stats.has(pid) && isOurs(stats.get(pid)!.parent));
    const sums = new Map<string, number>();
    for (const [pid, { command, cpu }] of stats) {
      if (!isOurs(pid)) continue;
      const what = this.#whatIs(pid, command);
      sums.set(what, (sums.get(what) ?? 0) + cpu);
    }
    return sums;
  }

  #whatIs(pid: number, command: string): string {
    if (pid === this.#workerPid) return 'worker';
    if (pid === process.pid) return 'bench';
    return ['simulator', 'kube-apiserver', 'etcd', 'temporal'].find((name) => command.includes(name)) ?? 'others';
  }
}

/** Events in the histories of all workflows together, ended ones included. */
export async function eventsOfAll({ temporal: { client } }: Bench): Promise<number> {
  let events = 0;
  for await (const { workflowId, runId } of client.workflow.list()) {
    const { historyLength } = await client.workflow.getHandle(workflowId, runId).describe();
    events += historyLength;
  }
  return events;
}

/** What a worker has asked of the API server, by verb and resource, without watches. `port`: of its metrics. */
export async function requestsOf(port: number): Promise<Map<string, number>> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return countsIn(metrics, 'drover_kube_request_seconds_count', ['verb', 'resource']);
}

interface Served {
  /** Requests of everybody, by verb and resource, without watches. */
  requests: Map<string, number>;
  /** KiB that were read, by verb and resource, and of events to all watches, by resource. */
  read: Map<string, number>;
  events: Map<string, number>;
}

/** What the API server itself has counted since its start. */
export async function servedBy({ kube }: Bench): Promise<Served> {
  const metrics = await kube.text({ method: 'GET', path: '/metrics' });
  const what = ['verb', 'resource', 'subresource'];
  return {
    requests: countsIn(metrics, 'apiserver_request_total', what),
    read: kib(countsIn(metrics, 'apiserver_response_sizes_sum', what)),
    events: kib(countsIn(metrics, 'apiserver_watch_events_sizes_sum', ['resource'])),
  };
}

const kib = (bytes: Map<string, number>): Map<string, number> =>
  new Map([...bytes].map(([what, count]) => [what, count / 1024]));

/** Sums of a metric's series by these of their labels, without watches. */
function countsIn(metrics: string, metric: string, labels: readonly string[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [, series, count] of metrics.matchAll(new RegExp(`^${metric}\\{(.*)\\} (\\S+)$`, 'gm'))) {
    const values = labels.map((name) => new RegExp(`\\b${name}="([^"]*)"`).exec(series!)?.[1] ?? '');
    const what = values
      .filter((value) => value !== '')
      .join(' ')
      .toLowerCase();
    if (!what.startsWith('watch')) sums.set(what, (sums.get(what) ?? 0) + Number(count));
  }
  return sums;
}

/** Requests for each of these VMs between two counts, most first. */
export function formatRequests(before: Map<string, number>, after: Map<string, number>, vms: number): string {
  const each = [...after].map(([what, count]) => ({ what, count: (count - (before.get(what) ?? 0)) / vms }));
  const all = each.reduce((sum, { count }) => sum + count, 0);
  const told = each.filter(({ count }) => count >= 0.005).sort((a, b) => b.count - a.count);
  return `${all.toFixed(2)}: ${told.map(({ what, count }) => `${what} ${count.toFixed(2)}`).join(', ')}`;
}

/** What the API server has served to everybody for each of these VMs between two moments. */
export function formatServed(before: Served, after: Served, vms: number): string {
  const told = (what: keyof Served): string => formatRequests(before[what], after[what], vms);
  return `all requests for each VM: ${told('requests')}; KiB read ${told('read')}; KiB of events ${told('events')}`;
}
