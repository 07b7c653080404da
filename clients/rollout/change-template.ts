import { REQUESTED_BY_ANNOTATION, CHANGE_CAUSE_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { requesterAnnotation } from '../../api/requested-by.ts';
import { updateRules } from '../../api/rules/pool-defaults.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate, specOf, type PoolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { handOver, OF_ROLLOUTS, ROLLOUT_MANAGER } from '../fields/field-ownership.ts';
import { BY_SPEC, rolloutView } from '../pool/view.ts';
import { requestedBy } from '../session/requester.ts';

/** drover writes a busy pool's status twice a second, and each write changes its resourceVersion. */
const TRIES = 20;

interface TemplateChange {
  template: PoolTemplate;
  /** Why, as the history shows it. */
  cause: string;
}

/**
 * Replaces the pool's whole template, and records who asked and why. Throws `Failure` if the pool no longer has the
 * template that `pool` has.
 */
export async function changeTemplate(
  kube: KubeClient,
  pool: Stored<Pool>,
  change: TemplateChange,
  dryRun: DryRun,
): Promise<void> {
  const { namespace, name, uid } = pool.metadata;
  const key: ObjectKey = { namespace, name };
  if (dryRun === 'client') return;
  const by = await requestedBy(async () => kube);
  const before = revisionOf(poolTemplate(pool.spec));
  const options = { dryRun: dryRun === 'server', fieldManager: ROLLOUT_MANAGER };
  const write = async (tries: number): Promise<void> => {
    const newest = tries === 1 ? pool : await kube.get<Pool>(Pools.resource, key);
    if (newest.metadata.uid !== uid || revisionOf(poolTemplate(newest.spec)) !== before)
      throw new Failure(`pool ${name} was changed concurrently: check its template and try again`);
    await kube.patch(Pools.resource, key, 'json', patchOf(newest, change, by), options);
  };
  await retryOnConflict(write, { tries: TRIES });
  if (dryRun === 'none') await handOver(kube, Pools.resource, key, OF_ROLLOUTS);
}

/** Why a template that was just set may not be rolled out by itself, a sentence each. */
export function rolloutNotes(pool: Stored<Pool>): string[] {
  const { pool: name, paused } = rolloutView(pool);
  const { kind } = updateRules(pool.spec.updateStrategy);
  return [
    ...(paused === null
      ? []
      : [
          `pool ${name} is paused by ${paused.by}: nothing begins until ${paused.by === BY_SPEC ? 'that is false' : '`drover rollout resume`'}`,
        ]),
    ...(kind === 'proactive'
      ? []
      : [
          `pool ${name} has updateStrategy ${kind}: VMs take it ${kind === 'unmanaged' ? 'when users update them' : 'once they stop'}`,
        ]),
  ];
}

/** Builds a JSON patch: a merge patch would keep fields that only the old template has. */
function patchOf({ metadata, spec }: Stored<Pool>, { template, cause }: TemplateChange, by: string): object[] {
  const fields = specOf(template, spec);
  const revision = revisionOf(poolTemplate({ ...spec, ...fields }));
  const annotations = {
    ...metadata.annotations,
    [REQUESTED_BY_ANNOTATION]: requesterAnnotation(by, revision),
    [CHANGE_CAUSE_ANNOTATION]: cause,
  };
  const before = { template: fields.template, nameGeneration: spec.nameGeneration ?? {} };
  const isSame = revisionOf(poolTemplate(before)) === revisionOf(poolTemplate(fields));
  return [
    // A precondition: the API server answers with a conflict if the pool has changed since it was read.
    { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    { op: 'add', path: '/metadata/annotations', value: annotations },
    { op: 'replace', path: '/spec/template', value: fields.template },
    ...(isSame ? [] : [{ op: 'add', path: '/spec/nameGeneration', value: fields.nameGeneration }]),
  ];
}
