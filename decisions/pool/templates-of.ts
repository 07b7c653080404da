import { revisionOf } from '../template/revision.ts';
import { poolTemplate, type PoolTemplate } from '../template/template.ts';
import type { PoolPlanInput } from './plan-input.ts';

/** Templates of the pool by revision, as far as they are kept. */
export function templatesOf({
  pool,
  revisions,
}: Pick<PoolPlanInput, 'pool' | 'revisions'>): (revision: string) => PoolTemplate | undefined {
  const templates = new Map(revisions.map(({ revision, template }) => [revision, template ?? undefined]));
  templates.set(revisionOf(poolTemplate(pool.spec)), poolTemplate(pool.spec));
  return (revision) => templates.get(revision);
}
