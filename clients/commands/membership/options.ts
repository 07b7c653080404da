import { Option } from 'commander';
import { Pools } from '../../cli/kinds.ts';
import { parsePositiveDuration } from '../../cli/parse-values.ts';
import { namedTargetsOf, vmNamesOf } from '../../cli/targets.ts';

/** `--timeout`: how long to wait for a worker, or for KubeVirt. */
export const timeoutOption = (): Option =>
  new Option('--timeout <duration>', 'how long to wait for a worker, such as 90s or 5m')
    .default(60_000, '1m')
    .argParser(parsePositiveDuration);

/** Parses `pool web web-3 web-7`, or `pool/web web-3 web-7`; there may be no VMs. Throws `UsageError`. */
export function poolAndVms(words: readonly string[]): { pool: string; vms: string[] } {
  const behind = words[0]!.includes('/') ? 1 : 2;
  const [pool = ''] = namedTargetsOf(words.slice(0, behind), [Pools]).names;
  const rest = words.slice(behind);
  return { pool, vms: rest.length === 0 ? [] : vmNamesOf(rest) };
}
