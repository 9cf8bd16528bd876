/**
 * The parts of nodemailer that svc uses: the dialogue and the composer of messages. They take some 18 MiB and
 * tens of milliseconds, so a coordinator that sends no mail does not load them, and one that does loads them at
 * its start.
 */
export async function loadNodemailer() {
  const [dialogue, composer] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/mail-composer'),
  ]);
  return { SMTPConnection: dialogue.default, MailComposer: composer.default };
}
