import * as z from 'zod';
import { Annotations, DNS_LABEL, Labels, rules } from './text.ts';

/** Leaves six characters for what comes after it: KubeVirt's labels and host names allow a VM's name 63. */
export const MAX_POOL_NAME = 57;

/** Returns the sentence for a name that is refused; `vms` says how the VMs are named after it. */
export const nameShape = (vms: string): string =>
  `must be at most ${MAX_POOL_NAME} lower-case letters, digits and "-", with a letter or digit at both ends: ${vms}`;

/** Metadata of an object that names its VMs after itself. */
export const ownerMeta = (shape: string) =>
  z.strictObject({
    name: z.string().max(MAX_POOL_NAME, shape).regex(DNS_LABEL, shape),
    namespace: z.string().exactOptional(),
    labels: Labels.exactOptional(),
    annotations: Annotations.exactOptional(),
    finalizers: z.array(z.string()).exactOptional(),
    ownerReferences: z
      .array(
        z.strictObject({
          apiVersion: z.string(),
          kind: z.string(),
          name: z.string(),
          uid: z.string(),
          controller: z.boolean().exactOptional(),
          blockOwnerDeletion: z.boolean().exactOptional(),
        }),
      )
      .exactOptional(),
    uid: z.string().exactOptional(),
    resourceVersion: z.string().exactOptional(),
    generation: z.int().exactOptional(),
    creationTimestamp: z.string().exactOptional(),
    deletionTimestamp: z.string().exactOptional(),
    deletionGracePeriodSeconds: z.int().exactOptional(),
    managedFields: z.array(z.unknown()).exactOptional(),
  });

/** The same limit on the name for the API server, which knows the schema of `metadata` itself. */
export const nameRule = (shape: string) =>
  rules([
    `size(self.metadata.name) <= ${MAX_POOL_NAME} && self.metadata.name.matches(r'${DNS_LABEL.source}')`,
    `metadata.name ${shape}`,
  ]);
