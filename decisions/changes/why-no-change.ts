import { GROUP } from '../../api/labels-and-annotations.ts';
import { tooDeep } from '../../api/lib/depth.ts';
import { MAX_PATCH } from '../../api/operations/defaults-and-limits.ts';
import { field, isObject, type Json } from '../lib/json.ts';

/** Fields of a spec that start and stop the VM. */
const POWER = ['running', 'runStrategy'];

/**
 * Returns why VMs can't be changed by this merge patch, in a sentence without a full stop; null if they can. KubeVirt
 * itself refuses the rest.
 */
export function whyNoChange(patch: unknown): string | null {
  if (!isObject(patch)) return 'a change must be an object with metadata or spec, as a VirtualMachine has them';
  const other = Object.keys(patch).find((key) => key !== 'metadata' && key !== 'spec');
  if (other !== undefined) return `${other} can't be changed: only spec, and labels and annotations of metadata can`;
  if (JSON.stringify(patch).length > MAX_PATCH) return `a change must be at most ${MAX_PATCH} characters long`;
  const deep = tooDeep(patch);
  if (deep !== null) return `${deep.slice(0, 5).join('.')}... is nested too deep`;
  return whyNoMetadata(field(patch, 'metadata'), 'metadata') ?? whyNoSpec(field(patch, 'spec')) ?? whyEmpty(patch);
}

const whyEmpty = (patch: Json): string | null =>
  Object.values(patch).some((part) => isObject(part) && Object.keys(part).length > 0)
    ? null
    : 'a change must not be empty: set a field below metadata or spec';

function whyNoMetadata(metadata: unknown, path: string): string | null {
  if (metadata === undefined) return null;
  if (!isObject(metadata)) return `${path} must be an object with labels or annotations`;
  const other = Object.keys(metadata).find((key) => key !== 'labels' && key !== 'annotations');
  if (other !== undefined) return `${path}.${other} can't be changed: only labels and annotations of metadata can`;
  for (const [part, texts] of Object.entries(metadata)) {
    if (!isObject(texts)) return `${path}.${part} must be an object with text values`;
    for (const [key, value] of Object.entries(texts)) {
      if (isDroverKey(key)) return `${path}.${part}[${key}] belongs to drover: use drover's commands to change it`;
      if (value !== null && typeof value !== 'string') return `${path}.${part}[${key}] must be a text, or null`;
    }
  }
  return null;
}

const isDroverKey = (key: string): boolean => {
  const [domain = ''] = key.includes('/') ? key.split('/') : [];
  return domain === GROUP || domain.endsWith(`.${GROUP}`);
};

function whyNoSpec(spec: unknown): string | null {
  if (spec === undefined) return null;
  if (!isObject(spec)) return 'spec must be an object';
  const power = POWER.find((key) => key in spec);
  if (power !== undefined) return `spec.${power} starts and stops VMs: make an operation that starts or stops them`;
  const template = field(spec, 'template');
  if (template === undefined) return null;
  if (!isObject(template)) return 'spec.template must be an object';
  return whyNoMetadata(field(template, 'metadata'), 'spec.template.metadata');
}
