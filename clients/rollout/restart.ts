import { RESTARTED_AT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { poolTemplate, type PoolTemplate } from '../../decisions/template/template.ts';
import { Pools } from '../cli/kinds.ts';
import { printNote, print, dryRunSuffix, labelOf } from '../cli/print.ts';
import { namedPools } from '../pool/named-pools.ts';
import type { RequestOptions } from '../pool/request.ts';
import type { Work } from '../session/session.ts';
import { changeTemplate, rolloutNotes } from './change-template.ts';

/** Restarts the VMs of pools that run, as a rollout. */
export const restartPools: Work<RequestOptions> = async (session, { reason, dryRun }, ...args) => {
  const pools = await namedPools(session, args);
  const kube = await session.kube();
  const at = new Date().toISOString();
  for (const pool of pools) {
    const template = restarted(poolTemplate(pool.spec), at);
    await changeTemplate(kube, pool, { template, cause: reason ?? 'restart of all VMs' }, dryRun);
    const { replicas = 0 } = pool.status ?? {};
    const vms = dryRun === 'none' ? '' : `: ${replicas} ${replicas === 1 ? 'VM' : 'VMs'}, except stopped ones`;
    print(`${labelOf(Pools.resource, pool.metadata.name)} restarted${dryRunSuffix(dryRun)}${vms}`);
    for (const note of rolloutNotes(pool)) printNote(note);
  }
};

interface VmiTemplate {
  metadata?: { annotations?: Record<string, string> };
}

/** Returns the template with an annotation that asks to restart every VMI that was started before `at` (RFC 3339). */
export function restarted(template: PoolTemplate, at: string): PoolTemplate {
  const vmi = template.spec.template as VmiTemplate;
  const annotations = { ...vmi.metadata?.annotations, [RESTARTED_AT_ANNOTATION]: at };
  return { ...template, spec: { ...template.spec, template: { ...vmi, metadata: { ...vmi.metadata, annotations } } } };
}
