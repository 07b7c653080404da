import { Option } from 'commander';
import { Pools, Vms } from '../../cli/kinds.ts';
import { namedTargetsOf } from '../../cli/targets.ts';
import { someTime } from '../../cli/values.ts';

/** `--timeout`: how long to wait for a worker, or for KubeVirt. */
export const timeoutOption = (): Option =>
  new Option('--timeout <duration>', 'how long to wait for a worker, such as 90s or 5m')
    .default(60_000, '1m')
    .argParser(someTime);

/** Parses `pool web web-3 web-7`, or `pool/web web-3 web-7`; there may be no VMs. Throws `UsageError`. */
export function poolAndVms(words: readonly string[]): { pool: string; vms: string[] } {
  const behind = words[0]!.includes('/') ? 1 : 2;
  const [pool = ''] = namedTargetsOf(words.slice(0, behind), [Pools]).names;
  return { pool, vms: vmNames(words.slice(behind)) };
}

/** Parses names of VMs, as `web-3` or `vm/web-3`. Throws `UsageError`. */
export function vmNames(words: readonly string[]): string[] {
  if (words.length === 0) return [];
  const bare = words.map((word) => word.replace(/^vm\//, ''));
  return [...new Set(namedTargetsOf(['vm', ...bare], [Vms]).names)];
}
