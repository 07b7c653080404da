import { createHash } from 'node:crypto';
import { GROUP } from '../../api/labels-and-annotations.ts';
import { internParts } from './intern-parts.ts';

/** Longer values are stored as hashes, since they may be unique to one VM and would use much memory. */
const LONGEST = 128;
/** What `kubectl apply` notes for itself. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

type Texts = Record<string, string>;

const NONE: Texts = {};

/** The annotations of a VM as its view has them: without drover's own, equal ones as one object. */
export function annotationsView(annotations: Texts = NONE): Texts {
  const others = Object.entries(annotations).filter(([name]) => !name.startsWith(`${GROUP}/`) && name !== LAST_APPLIED);
  if (others.length === 0) return NONE;
  return internParts(Object.fromEntries(others.map(([name, value]) => [name, shortened(value)]))) ?? NONE;
}

const shortened = (value: string): string =>
  value.length <= LONGEST ? value : `sha256:${createHash('sha256').update(value).digest('hex')}`;
