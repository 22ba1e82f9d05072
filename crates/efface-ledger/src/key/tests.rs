//! Keys against RFC 8032 and the reference implementation of signed notes, and their files.

use super::*;
use crate::note;
use crate::tests::{assert_every_change_is_refused, other_key, signing_key};

fn key(name: &str, seed: &str) -> SigningKey {
    let mut bytes = Zeroizing::new([0; 32]);
    hex::decode_to_slice(seed, bytes.as_mut_slice()).unwrap();
    SigningKey::generate(name, &bytes).unwrap()
}

fn protection(passphrase: &str) -> Protection<'_> {
    Protection { passphrase: passphrase.as_bytes(), salt: [3; 16], iv: [4; 16] }
}

#[test]
fn signatures_are_those_of_rfc_8032() {
    let key = key("test", "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
    assert_eq!(hex::encode(key.public().as_bytes()), public);
    assert_eq!(hex::encode(key.sign(b"")), signature);
    assert!(key.public().verify(b"", &key.sign(b"")));
    assert!(!key.public().verify(b"x", &key.sign(b"")));
    assert_eq!(key.public().id(), "21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9");
}

#[test]
fn notes_and_keys_are_those_of_the_reference_implementation() {
    let seed = crate::encoding::decode_array::<33>("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz").unwrap();
    let key = key("PeterNeumann", &hex::encode(&seed[1..]));
    let line = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    assert_eq!(key.public().to_string(), line);
    let text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    let signature = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=";
    let expected = format!("{text}\n— PeterNeumann {signature}\n");
    assert_eq!(note::sign(text, &key).unwrap(), expected);
    assert_eq!(note::open(&expected, &line.parse().unwrap()), Ok(text));
}

#[test]
fn every_change_of_a_signature_is_refused() {
    let key = signing_key();
    let public = key.public();
    assert_every_change_is_refused(&key.sign(b"message"), |signature| {
        signature.try_into().is_ok_and(|signature| public.verify(b"message", signature))
    });
    assert!(!other_key().public().verify(b"message", &key.sign(b"message")));
}

#[test]
fn a_public_key_is_one_exact_line() {
    let public = signing_key().public();
    let line = public.to_string();
    assert_eq!(line.parse::<PublicKey>().unwrap(), public);
    assert_every_change_is_refused(line.as_bytes(), |changed| {
        // Another key that happened to have the same hash would be accepted, as another key.
        std::str::from_utf8(changed).is_ok_and(|line| line.parse::<PublicKey>().is_ok())
    });
    for around in [format!("{line}\n"), format!(" {line}"), format!("{line} "), String::new(), "a+b".into()] {
        assert!(around.parse::<PublicKey>().is_err(), "{around:?}");
    }
}

#[test]
fn public_keys_for_which_signatures_prove_nothing_are_refused() {
    let mut tagged = [0; 33];
    tagged[0] = 1;
    for y in [0, 1] {
        tagged[1] = y;
        let line = format!("test+00000000+{}", crate::encoding::encode(&tagged));
        assert!(matches!(line.parse::<PublicKey>(), Err(PublicKeyError::Point)), "{line}");
    }
    tagged[0] = 2;
    let line = format!("test+00000000+{}", crate::encoding::encode(&tagged));
    assert!(matches!(line.parse::<PublicKey>(), Err(PublicKeyError::Form { .. })));
}

#[test]
fn a_public_key_is_read_from_a_file_with_or_without_a_newline() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.pub");
    let public = signing_key().public();
    for (end, accepted) in [("", true), ("\n", true), ("\n\n", false), ("\r\n", false), (" ", false)] {
        std::fs::write(&path, format!("{public}{end}")).unwrap();
        assert_eq!(PublicKey::read(&path).is_ok_and(|read| read == public), accepted, "{end:?}");
    }
    assert!(matches!(PublicKey::read(directory.path()), Err(PublicKeyError::Io { .. })));
}

#[test]
fn names_that_cannot_stand_in_a_note_are_refused() {
    for name in ["", "a b", "a+b", "a\n", "a\u{a0}b", "a\0"] {
        assert!(matches!(SigningKey::generate(name, &Zeroizing::new([1; 32])), Err(KeyError::Name { .. })), "{name:?}");
    }
}

#[test]
fn a_private_key_prints_nothing_of_itself() {
    let key = signing_key();
    let expected = format!("SigningKey {{ name: \"example.org/churn\", id: \"{}\", .. }}", key.public().id());
    assert_eq!(format!("{key:?}"), expected);
}

#[test]
fn the_text_of_a_private_key_is_named_pkcs8() {
    let key = key("test", "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let expected = "name: test\n-----BEGIN PRIVATE KEY-----\n\
                    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
                    -----END PRIVATE KEY-----\n";
    assert_eq!(key.to_pem(None).unwrap().as_str(), expected);
    let read = SigningKey::from_pem(expected, None).unwrap();
    assert_eq!(read.public(), key.public());
    assert!(matches!(SigningKey::from_pem(expected, Some(b"x")), Err(KeyError::NotProtected)));
}

#[test]
fn a_protected_key_opens_with_its_passphrase_only() {
    let key = signing_key();
    let text = key.to_pem(Some(&protection("correct horse"))).unwrap();
    assert!(text.starts_with("name: example.org/churn\n-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
    let read = SigningKey::from_pem(&text, Some(b"correct horse")).unwrap();
    assert_eq!(read.public(), key.public());
    assert!(matches!(SigningKey::from_pem(&text, None), Err(KeyError::NeedsPassphrase)));
    for wrong in ["", "correct hors", "correct horse ", "Correct horse"] {
        let refused = SigningKey::from_pem(&text, Some(wrong.as_bytes()));
        assert!(matches!(refused, Err(KeyError::WrongPassphrase)), "{wrong:?}");
    }
    assert!(matches!(key.to_pem(Some(&protection(""))), Err(KeyError::EmptyPassphrase)));
}

#[test]
fn texts_that_are_no_private_keys_are_refused() {
    let text = signing_key().to_pem(None).unwrap();
    let pem = text.split_once('\n').unwrap().1;
    let without_name = SigningKey::from_pem(pem, None).unwrap_err();
    assert_eq!(without_name.to_string(), "not a private key: it does not start with a line `name: …`");
    let public = "name: test\n-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
                  -----END PUBLIC KEY-----\n";
    let public = SigningKey::from_pem(public, None).unwrap_err();
    assert_eq!(public.to_string(), "not a private key: it is labelled `PUBLIC KEY`, not `PRIVATE KEY`");
    // X25519 in place of Ed25519.
    let other = text.replace("MC4CAQAwBQYDK2Vw", "MC4CAQAwBQYDK2Vu");
    for text in ["", "name: test", "name: test\n", "name: test\nx\n", &text[..text.len() - 30], &other] {
        assert!(matches!(SigningKey::from_pem(text, None), Err(KeyError::NotAKey { .. })), "{text}");
    }
    assert!(matches!(SigningKey::from_pem("name: a b\nx\n", None), Err(KeyError::Name { .. })));
}

#[test]
fn key_files_are_read_as_written_and_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let (plain, protected) = (directory.path().join("plain.pem"), directory.path().join("protected.pem"));
    let key = signing_key();
    key.write_new(&plain, None).unwrap();
    key.write_new(&protected, Some(&protection("secret"))).unwrap();
    assert_eq!(SigningKey::read(&plain, None).unwrap().public(), key.public());
    assert_eq!(SigningKey::read(&protected, Some(b"secret")).unwrap().public(), key.public());
    assert!(matches!(SigningKey::read(&protected, None), Err(KeyError::NeedsPassphrase)));
    assert!(matches!(other_key().write_new(&plain, None), Err(KeyError::Exists { .. })));
    assert_eq!(SigningKey::read(&plain, None).unwrap().public(), key.public());
    let missing = SigningKey::read(&directory.path().join("missing.pem"), None);
    assert!(matches!(missing, Err(KeyError::Io { .. })));
}

#[cfg(unix)]
#[test]
fn keys_that_others_can_use_are_refused() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key.pem");
    signing_key().write_new(&path, None).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o620, 0o644, 0o601] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let refused = SigningKey::read(&path, None).unwrap_err();
        let expected = format!(
            "private key `{path}` can be used by others than its owner: mode is {mode:o}, must be 600; run `chmod 600 {path}`",
            path = path.display()
        );
        assert_eq!(refused.to_string(), expected);
    }
    for mode in [0o600, 0o400] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert!(SigningKey::read(&path, None).is_ok(), "{mode:o}");
    }
}

#[test]
fn a_key_that_takes_all_memory_to_open_is_refused_before_it_does() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    let protection = Protection { passphrase: b"passphrase", salt: [1; 16], iv: [2; 16] };
    let text = signing_key().to_pem(Some(&protection)).unwrap();
    let body: String = text.lines().filter(|line| !line.starts_with(['-', 'n'])).collect();
    let mut document = STANDARD.decode(body).unwrap();
    // N = 16384, r = 8, p = 5, as DER writes them.
    let cost = [0x02, 0x02, 0x40, 0x00, 0x02, 0x01, 0x08, 0x02, 0x01, 0x05];
    let at = document.windows(cost.len()).position(|window| window == cost).unwrap();
    document[at + 6] = 0x7f;
    let pem = pkcs8::der::pem::encode_string("ENCRYPTED PRIVATE KEY", pkcs8::LineEnding::LF, &document).unwrap();
    let error = SigningKey::from_pem(&format!("name: k\n{pem}"), Some(b"passphrase")).unwrap_err();
    assert!(error.to_string().contains("opening it takes an effort of 1331691520, more than 1073741824"), "{error}");
}
