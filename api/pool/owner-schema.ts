import * as z from 'zod';
import { API_VERSION } from '../labels-and-annotations.ts';
import { Annotations, DNS_LABEL, Labels, rules } from './text.ts';

/** Leaves six characters for what comes after it: KubeVirt's labels and host names allow a VM's name 63. */
const LONGEST_NAME = 57;

/** Metadata of an object with such a name. */
const metadataOf = (shape: string) =>
  z.strictObject({
    name: z.string().max(LONGEST_NAME, shape).regex(DNS_LABEL, shape),
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

/** Returns the schema of a kind whose objects name their members after themselves. `names`: says how. */
export function ownerSchema<Kind extends string, Spec extends z.ZodType, Status extends z.ZodType>(
  kind: Kind,
  names: string,
  spec: Spec,
  status: Status,
) {
  const shape = `must be at most ${LONGEST_NAME} lower-case letters, digits and "-", with a letter or digit at both ends: ${names}`;
  return (
    z
      .strictObject({
        apiVersion: z.literal(API_VERSION),
        kind: z.literal(kind),
        metadata: metadataOf(shape),
        spec,
        status: status.exactOptional(),
      })
      // For the API server, which knows the schema of `metadata` itself.
      .meta(
        rules([
          `size(self.metadata.name) <= ${LONGEST_NAME} && self.metadata.name.matches(r'${DNS_LABEL.source}')`,
          `metadata.name ${shape}`,
        ]),
      )
  );
}
