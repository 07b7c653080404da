/** A kind of change that was refused in a dry run. */
export interface RefusedShape {
  /** What it sets or removes, as users write it. */
  paths: readonly string[];
  /** How many VMs it is about. */
  vms: number;
  /** The VM of the dry run, by `namespace/name`. */
  tried: string;
  /** In the words of the API server. */
  message: string;
}

/** What of it a message has room for: a condition holds 1,024 characters. */
const MAX_SHAPES = 3;
const MAX_PATHS = 3;
const MESSAGE_LENGTH = 240;

/** Says in a sentence without a full stop why no VM is changed. */
export function formatRefused(refused: readonly RefusedShape[], maxFailures: number): string {
  const count = refused.reduce((sum, { vms }) => sum + vms, 0);
  const shown = refused.toSorted((a, b) => b.vms - a.vms).slice(0, MAX_SHAPES);
  const more = refused.length - shown.length;
  return [
    `no VM was touched: dry runs refuse the change of ${count === 1 ? '1 VM' : `${count} VMs`}, and maxFailures is ${maxFailures}`,
    ...shown.map(formatShape),
    ...(more > 0 ? [`and ${more} more kinds of changes`] : []),
  ].join('; ');
}

function formatShape({ paths, vms, tried, message }: RefusedShape): string {
  const shown = paths.slice(0, MAX_PATHS).join(', ') + (paths.length > MAX_PATHS ? ', ...' : '');
  const others = vms > 1 ? ` and ${vms - 1} more` : '';
  return `${shown} of ${tried}${others}: ${message.length > MESSAGE_LENGTH ? `${message.slice(0, MESSAGE_LENGTH - 1)}…` : message}`;
}
