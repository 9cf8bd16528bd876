/**
 * The parts of nodemailer that svc uses: the dialogue and the composer of messages. They take some 18 MiB and
 * tens of milliseconds, so a coordinator that sends no mail does not load them, and one that does loads them at
 * its start.
 *
 * Its transports are not used: none ends a send by a signal, bounds it as a whole, or takes one of the places that all
 * lookups of names share. That with a pool keeps idle connections, and that without one opens a connection for each
 * of a hundred alerts, which relays refuse.
 */
export async function loadNodemailer() {
  const [dialogue, composer] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/mail-composer'),
  ]);
  return { SMTPConnection: dialogue.default, MailComposer: composer.default };
}
