import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

const HEADER = '# Generated from rules.yaml by deploy/monitoring/generate.ts.\n';

interface RuleFile {
  groups: { name: string; rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
}

const FOLDER = new URL('./', import.meta.url);

/** Returns the alerts, as Prometheus reads them. */
export const readRules = (): RuleFile => parse(readFileSync(new URL('rules.yaml', FOLDER), 'utf8')) as RuleFile;

/**
 * Returns what is made from `rules.yaml`: the alerts as an object of the Prometheus Operator.
 * `node deploy/monitoring/generate.ts` writes it.
 */
export function generateRule(): string {
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'drover' },
    spec: readRules(),
  };
  return HEADER + stringify(rule, { lineWidth: 0 });
}

if (import.meta.main) writeFileSync(new URL('prometheusrule.yaml', FOLDER), generateRule());
