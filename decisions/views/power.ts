import { field } from '../lib/json.ts';

/** The run strategy of a VirtualMachine's spec, from `running` or `runStrategy`; undefined if it has neither. */
export function powerOf(spec: unknown): string | undefined {
  const running = field(spec, 'running');
  if (typeof running === 'boolean') return running ? 'Always' : 'Halted';
  const strategy = field(spec, 'runStrategy');
  return typeof strategy === 'string' ? strategy : undefined;
}
