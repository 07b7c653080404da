import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Compose {
  services: Record<string, ComposeService>;
  volumes?: Record<string, unknown>;
}

/** The parts of a service that drover's compose file uses. */
export interface ComposeService {
  image?: string;
  build?: string;
  user?: string;
  command?: string[];
  entrypoint?: string[];
  restart?: string;
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: (string | { type: string; source: string; target: string; read_only?: boolean })[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test?: string[]; disable?: boolean };
  network_mode?: string;
  stop_grace_period?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
}

const VARIABLE = /\$(?:(\$)|\{(\w+):-([^}]*)\})/g;

export const composeText = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** Compose passes every variable as text, even if YAML reads it as a number. */
const asText = (key: unknown, value: unknown): unknown =>
  typeof value === 'number' && String(key).startsWith('DROVER_') ? String(value) : value;

/** Reads the file as Compose does: variables filled in from `env` or with their defaults, `$$` turned into `$`. */
export function readCompose(file: string, env: Record<string, string> = {}): Compose {
  const filled = composeText(file).replaceAll(
    VARIABLE,
    (_, dollar: string | undefined, name: string, otherwise: string) => dollar ?? (env[name] || otherwise),
  );
  return parse(filled, asText, { merge: true }) as Compose;
}
