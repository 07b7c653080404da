import * as z from 'zod';
import { KUBERNETES_EVENTS, NOTICE_TYPES } from './types.ts';

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
/** As Standard Webhooks asks for, in bytes. */
const SECRET_LENGTH = [24, 64] as const;

/** Returns the key of a secret, as Standard Webhooks writes secrets. */
export const keyOfSecret = (secret: string): Buffer => Buffer.from(secret.slice('whsec_'.length), 'base64');

/** `*` stands for any characters. */
export const matchesGlob = (glob: string, text: string): boolean =>
  new RegExp(`^${glob.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`).test(text);

const isAddress = (text: string): boolean => {
  const url = URL.parse(text);
  return (url?.protocol === 'https:' || url?.protocol === 'http:') && url.username === '' && url.password === '';
};

const Receiver = z.strictObject({
  name: z
    .string()
    .regex(NAME, 'must be lower-case letters, digits and "-", at most 63')
    .refine((name) => name !== KUBERNETES_EVENTS, 'is the name of the Events that workers record'),
  url: z
    .string()
    .refine(isAddress, 'must be a URL that begins with https:// or http://, without a user; see authorization'),
  secrets: z
    .array(
      z
        .string()
        .regex(SECRET, 'must be whsec_ and base64')
        .refine((secret) => {
          const { length } = keyOfSecret(secret);
          return length >= SECRET_LENGTH[0] && length <= SECRET_LENGTH[1];
        }, `must be ${SECRET_LENGTH[0]} to ${SECRET_LENGTH[1]} bytes in base64`),
    )
    .max(4)
    .default([]),
  authorization: z
    .string()
    .regex(/^[\x20-\x7e]+$/, 'must be one line')
    .optional(),
  ca: z.string().optional(),
  types: z
    .array(
      z
        .string()
        .refine(
          (glob) => Object.keys(NOTICE_TYPES).some((type) => matchesGlob(glob, type)),
          'matches no type of docs/notifications.md',
        ),
    )
    .min(1)
    .optional(),
  namespaces: z.array(z.string()).min(1).optional(),
  batch: z.boolean().default(false),
});

/** A receiver of notifications: its address, its secrets, and what it receives. */
export type Receiver = z.infer<typeof Receiver>;

/** The file that `DROVER_WEBHOOKS` names. */
export const Receivers = z.strictObject({
  receivers: z
    .array(Receiver)
    .max(16)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'two receivers have one name'),
});
