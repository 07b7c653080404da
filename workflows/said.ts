import type { Asking } from './messages.ts';

/** What a person has said, as it is kept and told: `at` is RFC 3339, of the workflow's clock. */
export const said = ({ by = 'somebody', why }: Asking): { by: string; at: string; why: string | null } => ({
  by,
  at: new Date(Date.now()).toISOString(),
  why: why ?? null,
});
