import * as z from 'zod';
import { API_VERSION } from './labels-and-annotations.ts';

/** The schema of a kind of drover's that users may name by `generateName`. */
export const kindSchema = <Kind extends string, Spec extends z.ZodType, Status extends z.ZodType>(
  kind: Kind,
  spec: Spec,
  status: Status,
) =>
  z.strictObject({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal(kind),
    metadata: z.looseObject({
      name: z.string().exactOptional(),
      generateName: z.string().exactOptional(),
      namespace: z.string().exactOptional(),
    }),
    spec,
    status: z.exactOptional(status),
  });
