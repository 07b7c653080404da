import { field } from '../lib/json.ts';

/**
 * The run strategy that a VirtualMachine's spec asks for, by whichever of its two fields; undefined where it has
 * neither.
 */
export function powerOf(spec: unknown): string | undefined {
  const running = field(spec, 'running');
  if (typeof running === 'boolean') return running ? 'Always' : 'Halted';
  const strategy = field(spec, 'runStrategy');
  return typeof strategy === 'string' ? strategy : undefined;
}
