import type { NameGeneration, PoolSpec, VmTemplate } from '../../api/pool/pool.ts';
import { isNamed, NAME_GENERATION_FLAGS, numberedReferences } from './references.ts';

/**
 * Everything that a pool's VMs are made from, and that its revisions keep: the template, and which references in it get
 * the VM's number (only if there are such references). A change of either is a new revision.
 */
export interface PoolTemplate extends VmTemplate {
  nameGeneration?: NameGeneration;
}

export function poolTemplate({
  template,
  nameGeneration = {},
}: Pick<PoolSpec, 'template' | 'nameGeneration'>): PoolTemplate {
  const flags = NAME_GENERATION_FLAGS.filter((flag) => nameGeneration[flag] === true && hasEffect(flag, template));
  return flags.length === 0
    ? template
    : { ...template, nameGeneration: Object.fromEntries(flags.map((flag) => [flag, true])) };
}

/**
 * Returns the spec fields with which a pool makes its VMs from this template. Flags without effect on it keep the
 * values that they have in `before`.
 */
export function specOf(
  { nameGeneration = {}, ...template }: PoolTemplate,
  before: NameGeneration = {},
): { template: VmTemplate; nameGeneration: NameGeneration } {
  const flags = NAME_GENERATION_FLAGS.filter(
    (flag) => (hasEffect(flag, template) ? nameGeneration[flag] : before[flag]) === true,
  );
  return { template, nameGeneration: Object.fromEntries(flags.map((flag) => [flag, true])) };
}

const hasEffect = (flag: keyof NameGeneration, { spec }: VmTemplate): boolean =>
  numberedReferences[flag](spec).some(isNamed);
