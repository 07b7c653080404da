import * as z from 'zod';

/** Kubernetes' condition; `lastTransitionTime` is RFC 3339. */
export const Condition = z.strictObject({
  type: z.string().max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024).exactOptional(),
  message: z.string().max(32_768).exactOptional(),
  lastTransitionTime: z.string().meta({ format: 'date-time' }).exactOptional(),
  observedGeneration: z.int().min(0).exactOptional(),
});
export type Condition = z.infer<typeof Condition>;

const count = (words: string) => z.int32().min(0).describe(words);

export const PoolStatus = z.strictObject({
  observedGeneration: z.int().min(0).describe('The generation of the spec that this status is about.').exactOptional(),
  replicas: count('VMs of the pool, without those that are being deleted.'),
  readyReplicas: count('VMs whose guests are ready.').exactOptional(),
  updatedReplicas: count('VMs that carry the newest revision.').exactOptional(),
  labelSelector: z.string().describe('Selector of the VMs, as the scale subresource shows it.').exactOptional(),
  currentRevision: z.string().describe('Revision that all VMs had last.').exactOptional(),
  updateRevision: z.string().describe('Revision of the template.').exactOptional(),
  conditions: z
    .array(Condition)
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .exactOptional(),
});
export type PoolStatus = z.infer<typeof PoolStatus>;
