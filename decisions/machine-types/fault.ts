import type { TransitionResult } from './transition.ts';

/** Says in one sentence why VMs block a transition, and what to do about it. For results with a fault. */
export function formatFault({ from, to, architecture, preference, vms, fault }: TransitionResult): string {
  const of = [architecture, preference].filter((one) => one !== null).join(', ');
  const whose = `${vms} ${vms === 1 ? 'VM' : 'VMs'} with ${from}${of === '' ? '' : ` (${of})`}`;
  return `${whose} would get ${to === '' ? 'the default' : to}: ${fault}; choose another type with --to, or leave them out with --exclude; with --force KubeVirt judges each of them`;
}
