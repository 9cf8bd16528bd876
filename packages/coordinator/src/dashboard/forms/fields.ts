import type {
  Attribute,
  Attributes,
  Block,
  ResourceDefinition,
  SecretPart,
  Value,
} from '@svc/shared/resources/definition.ts';

/** The kind of input for the value of an attribute. */
export type Control =
  | {
      readonly type: 'text';
      readonly isMultiline: boolean;
      readonly maximumLength?: number;
      readonly form?: string;
      /** Whether an empty input gets the name of the visitor's time zone, in browsers with scripts. */
      readonly isOwnZone?: boolean;
    }
  | { readonly type: 'number'; readonly minimum?: number; readonly maximum?: number; readonly unit?: string }
  | { readonly type: 'switch' }
  /**
   * A local date and time: `2027-01-01T02:00`. `isUtc`: it is in UTC, which browsers with scripts show in the
   * visitor's zone, as `times.js` does. Otherwise another field has its zone.
   */
  | { readonly type: 'local'; readonly isUtc?: boolean }
  /** The user chooses one of these options. */
  | { readonly type: 'choice'; readonly options: readonly Option[] }
  /** The user chooses any number of these options. */
  | { readonly type: 'choices'; readonly options: readonly Option[] }
  /** The user chooses one resource of one of these kinds. The value is its id. */
  | { readonly type: 'reference'; readonly kinds: readonly string[] }
  | { readonly type: 'references'; readonly kinds: readonly string[] }
  /** A list of texts, one on each line. */
  | { readonly type: 'texts'; readonly maximum?: number }
  /** A list of objects with these fields. A map is shown as a list of rows, each with a key and a value. */
  | {
      readonly type: 'rows';
      readonly isMap: boolean;
      readonly maximum: number;
      readonly fields: readonly Field[];
    }
  /** One optional object with these fields. */
  | { readonly type: 'group'; readonly fields: readonly Field[] };

/** A value that the user can choose, with its text. */
export type Option = { readonly value: string; readonly label: string };

/** A field of a form: one attribute or block of a resource. */
export type Field = {
  /** Name of the attribute or block in the resource. */
  readonly name: string;
  readonly label: string;
  /** The attribute's description in the definition. Names in it are in back quotes. */
  readonly help: string;
  readonly isRequired: boolean;
  /** The default of the attribute; null: the attribute has no default. */
  readonly fallback: unknown;
  /**
   * `whole`: the whole value is secret. A {@link SecretPart}:
   * one part of the value is secret. Null: nothing is secret.
   */
  readonly secret: 'whole' | SecretPart | null;
  /** Whether the value cannot change after the resource is created. */
  readonly isFixed: boolean;
  readonly control: Control;
};

/** The form of a kind of resource. */
export type ResourceForm = {
  /** Name of the kind in declarations. Null: objects of this kind are not declared, and have no secrets. */
  readonly kind: string | null;
  /** Constant members of every request body. */
  readonly constants: Readonly<Record<string, string>>;
  readonly fields: readonly Field[];
  /**
   * Name of the field whose value chooses the one group that is shown,
   * such as `provider_type` of a channel. Null: all groups are shown.
   */
  readonly chooser: string | null;
  /** Whether the fields are shown in sections with headings. */
  readonly hasSections: boolean;
};

/** Makes the form of a resource from its definition. Attributes that the service sets have no field. */
export function formOf(definition: ResourceDefinition): ResourceForm {
  const blocks = Object.entries(definition.blocks);
  const groups = blocks.filter(([, { nesting }]) => nesting === 'single').map(([name]) => name);
  const chooser = Object.entries(definition.attributes).find(
    ([, { value }]) => groups.length > 0 && groups.every((name) => value.oneOf?.includes(name) === true),
  );
  const attributes = fieldsOf(definition.attributes).map((field) =>
    field.name === chooser?.[0] ? { ...field, control: groupChoice(definition.blocks) } : field,
  );
  return {
    kind: definition.kind,
    constants: definition.constants,
    fields: [...attributes, ...blocks.map(([name, block]) => blockField(name, block))],
    chooser: chooser?.[0] ?? null,
    hasSections: true,
  };
}

/**
 * The input that chooses one group. The label of an option is the
 * beginning of the group's description, with the group's name.
 */
function groupChoice(blocks: ResourceDefinition['blocks']): Control {
  const options = Object.entries(blocks).map(([value, { description }]) => ({
    value,
    label: `${firstPhrase(description)} (${value})`,
  }));
  return { type: 'choice', options };
}

function fieldsOf(attributes: Attributes): Field[] {
  return Object.entries(attributes).flatMap(([name, attribute]) =>
    attribute.presence === 'computed' ? [] : [attributeField(name, attribute)],
  );
}

function attributeField(name: string, attribute: Attribute): Field {
  const { value, presence, description, label, secret, replaces } = attribute;
  // The secrets of a map are its values, and the field of the values is marked as secret.
  const isWhole = secret && value.type !== 'map';
  return {
    name,
    label: label ?? labelOf(name),
    help: description,
    isRequired: presence === 'required',
    fallback: attribute.default ?? null,
    secret: isWhole ? 'whole' : (value.secretPart ?? null),
    isFixed: replaces,
    control: controlOf(value, secret),
  };
}

function blockField(name: string, { nesting, maximum, description, attributes }: Block): Field {
  const fields = fieldsOf(attributes);
  return {
    name,
    label: nesting === 'single' ? firstPhrase(description) : labelOf(name),
    help: description,
    isRequired: false,
    fallback: null,
    secret: null,
    isFixed: false,
    control:
      nesting === 'single' ? { type: 'group', fields } : { type: 'rows', isMap: false, maximum, fields },
  };
}

/** Maximum number of rows of a list whose definition sets no maximum. */
const MOST_ROWS = 100;

function controlOf(value: Value, isSecret: boolean): Control {
  const { maximumItems: maximum = MOST_ROWS } = value;
  switch (value.type) {
    case 'string':
      return textControl(value);
    case 'number':
      return numberControl(value);
    case 'bool':
      return { type: 'switch' };
    case 'set':
      return value.references === undefined
        ? { type: 'choices', options: optionsOf(value.oneOf ?? []) }
        : { type: 'references', kinds: value.references };
    case 'list':
      return { type: 'texts', maximum };
    case 'map':
      return { type: 'rows', isMap: true, maximum, fields: entryFields(isSecret) };
    case 'objects':
      return { type: 'rows', isMap: false, maximum, fields: fieldsOf(value.attributes ?? {}) };
  }
}

function textControl({ oneOf, references, isMultiline = false, maximumLength, form }: Value): Control {
  if (oneOf !== undefined) return { type: 'choice', options: optionsOf(oneOf) };
  if (references !== undefined) return { type: 'reference', kinds: references };
  return {
    type: 'text',
    isMultiline,
    ...(maximumLength === undefined ? {} : { maximumLength }),
    ...(form === undefined ? {} : { form }),
  };
}

function optionsOf(values: readonly string[]): Option[] {
  return values.map((value) => ({ value, label: optionLabel(value) }));
}

function numberControl({ minimum, maximum, unit }: Value): Control {
  return {
    type: 'number',
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(unit === undefined ? {} : { unit }),
  };
}

/** The two fields of a map's entry. */
function entryFields(isSecret: boolean): Field[] {
  const text = { type: 'text', isMultiline: false } as const;
  const common = { help: '', isRequired: true, fallback: null, isFixed: false, control: text } as const;
  return [
    { ...common, name: 'key', label: 'Name', secret: null },
    { ...common, name: 'value', label: 'Value', secret: isSecret ? 'whole' : null },
  ];
}

/** How labels spell words that names have in lower case. */
const WRITTEN: Readonly<Record<string, string>> = {
  url: 'URL',
  uri: 'URI',
  id: 'ID',
  api: 'API',
  otlp: 'OTLP',
};

/** The label of an attribute: `Contact URL` for `contact_url`. */
export function labelOf(name: string): string {
  const words = name.split('_').map((word) => WRITTEN[word] ?? word);
  const text = words.join(' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The label of one row, from the label of the list: `Status code assertion` for `Status code assertions`. */
export function singular(label: string): string {
  return label.replace(/s$/, '');
}

/** A description up to its first full stop or colon: `Custom HTTP endpoint`. */
export function firstPhrase(description: string): string {
  return description.split(/[.:]/, 1)[0] ?? description;
}

/** Labels of values whose names are not clear to people. Other values are shown unchanged. */
const OPTION_LABELS: Readonly<Record<string, string>> = {
  eq: 'equals',
  neq: 'does not equal',
  contains: 'contains',
  not_contains: 'does not contain',
  empty: 'is empty',
  not_empty: 'is not empty',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  '30s': 'every 30 seconds',
  '1m': 'every minute',
  '5m': 'every 5 minutes',
  '10m': 'every 10 minutes',
  '30m': 'every 30 minutes',
  '1h': 'every hour',
  public: 'everybody',
  password: 'people who know the password',
  'email-domain': 'people with an address at an e-mail domain',
  monitor: 'a monitor',
  static: 'a static text',
};

export function optionLabel(value: string): string {
  return OPTION_LABELS[value] ?? value;
}
