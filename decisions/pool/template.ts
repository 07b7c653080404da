import type { NameGeneration, PoolSpec, VmTemplate } from '../../api/pool/pool.ts';
import type { Json } from '../lib/json.ts';
import { configMapReferences, isNamed, secretReferences, volumesOf, type Reference } from './template-references.ts';

/**
 * All that a pool's VMs are made from, and that its revisions keep: the template, and which names in it get the VM's
 * number, as far as there are such names. A change of either is another revision.
 */
export interface PoolTemplate extends VmTemplate {
  nameGeneration?: NameGeneration;
}

const REFERENCES: Record<keyof NameGeneration, (volume: Json) => Reference[]> = {
  appendPostfixToSecretReferences: secretReferences,
  appendPostfixToConfigMapReferences: configMapReferences,
};

export function poolTemplate({
  template,
  nameGeneration = {},
}: Pick<PoolSpec, 'template' | 'nameGeneration'>): PoolTemplate {
  const flags = FLAGS.filter((flag) => nameGeneration[flag] === true && hasEffect(flag, template));
  return flags.length === 0
    ? template
    : { ...template, nameGeneration: Object.fromEntries(flags.map((flag) => [flag, true])) };
}

/**
 * The fields of a pool's spec with which it makes its VMs from this template; flags that say nothing to it stay as they
 * are.
 */
export function specOf(
  { nameGeneration = {}, ...template }: PoolTemplate,
  before: NameGeneration = {},
): { template: VmTemplate; nameGeneration: NameGeneration } {
  const flags = FLAGS.filter((flag) => (hasEffect(flag, template) ? nameGeneration[flag] : before[flag]) === true);
  return { template, nameGeneration: Object.fromEntries(flags.map((flag) => [flag, true])) };
}

const FLAGS = Object.keys(REFERENCES) as (keyof NameGeneration)[];

const hasEffect = (flag: keyof NameGeneration, { spec }: VmTemplate): boolean =>
  volumesOf(spec).some((volume) => REFERENCES[flag](volume).some(isNamed));
