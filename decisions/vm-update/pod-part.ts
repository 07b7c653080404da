import { RESTARTED_AT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import type { PoolTemplate } from '../template/template.ts';

/** Annotations of a VMI that KubeVirt, or what it starts, reads only as the VMI starts. */
const AT_START = new Set([
  'kubernetes.io/egress-bandwidth',
  'kubernetes.io/ingress-bandwidth',
  'kubevirt.io/free-page-reporting-disabled',
  'kubevirt.io/ignitiondata',
  'kubevirt.io/libvirt-log-filters',
  'kubevirt.io/memfd',
  'kubevirt.io/placePCIDevicesOnRootComplex',
  'kubevirt.io/qgs-socket-path',
  'kubevirt.io/vga-display-efi-x86',
]);

/** The same of all annotations of a domain: hook sidecars, and what network plugins read. */
const DOMAINS_AT_START = [
  'cni.cncf.io',
  'cni.projectcalico.org',
  'hooks.kubevirt.io',
  'multus-cni.io',
  'ovn.kubernetes.io',
  'ovn.org',
];

/** Annotations that KubeVirt keeps up to date on the pod of a VMI that runs. */
const SYNCED = new Set(['descheduler.alpha.kubernetes.io/evict', 'descheduler.alpha.kubernetes.io/prefer-no-eviction']);

const isReadAtStart = (key: string): boolean => {
  const domain = key.slice(0, Math.max(key.indexOf('/'), 0));
  return AT_START.has(key) || DOMAINS_AT_START.some((one) => domain === one || domain.endsWith(`.${one}`));
};

/** The annotations of the VMI that it reads only as it starts, and a user's order to restart. */
export const startAnnotations = (template: PoolTemplate): Json =>
  annotationsOf(template, (key) => key === RESTARTED_AT_ANNOTATION || isReadAtStart(key));

/** What a VMI has already in one of its pods, which are made at its start and at each of its migrations. */
export type PodPart = 'labels' | 'annotations' | 'nodeSelector' | 'affinity' | 'tolerations';

/** In words. */
export const POD_PARTS: Record<PodPart, string> = {
  labels: 'labels',
  annotations: 'annotations',
  nodeSelector: 'node selector',
  affinity: 'affinity',
  tolerations: 'tolerations',
};

const PARTS: Record<PodPart, (template: PoolTemplate) => unknown> = {
  labels: ({ spec }) => field(spec, 'template', 'metadata', 'labels'),
  annotations: (template) => annotationsOf(template, (key) => !SYNCED.has(key) && key !== RESTARTED_AT_ANNOTATION),
  nodeSelector: ({ spec }) => field(spec, 'template', 'spec', 'nodeSelector'),
  affinity: ({ spec }) => field(spec, 'template', 'spec', 'affinity'),
  tolerations: ({ spec }) => field(spec, 'template', 'spec', 'tolerations'),
};

/**
 * Returns what a pod that was made from one template lacks of another: KubeVirt changes it on the VMI at once, and
 * gives it to the next pod.
 */
export const podPartsBetween = (from: PoolTemplate, to: PoolTemplate): PodPart[] =>
  (Object.keys(PARTS) as PodPart[]).filter((part) => shown(PARTS[part](from)) !== shown(PARTS[part](to)));

/** An empty map or list is none. */
const shown = (value: unknown): string =>
  value == null || Object.keys(value).length === 0 ? 'null' : canonical(value);

function annotationsOf({ spec }: PoolTemplate, isMeant: (key: string) => boolean): Json {
  const annotations = field(spec, 'template', 'metadata', 'annotations');
  return Object.fromEntries(Object.entries(isObject(annotations) ? annotations : {}).filter(([key]) => isMeant(key)));
}
