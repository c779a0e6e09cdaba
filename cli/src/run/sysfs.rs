//! The sysfs tree that libibverbs finds emulated devices in, through SYSFS_PATH.

use std::fs;
use std::io;
use std::path::Path;

use verbsguard_emu_proto::{FIRST_MINOR, MAJOR};

/// Vendor and device of a ConnectX-5, by which libmlx5 knows its devices.
const MODALIAS: &str = "pci:v000015B3d00001017sv000015B3sd00000016bc02sc07i00";
const FIRST_GUID: u64 = 0x0012_4bff_fe00_0001;

/// Writes it below `root`.
pub fn write(root: &Path, devices: usize) -> io::Result<()> {
    put(&root.join("class/infiniband_verbs"), &[("abi_version", "6")])?;
    (0..devices).try_for_each(|device| write_device(root, device))
}

fn write_device(root: &Path, device: usize) -> io::Result<()> {
    let name = format!("mlx5_{device}");
    let number = format!("{MAJOR}:{}", FIRST_MINOR as usize + device);
    let node = root.join("class/infiniband_verbs").join(format!("uverbs{device}"));
    put(&node, &[("ibdev", &name), ("dev", &number), ("abi_version", "1")])?;
    let guid = words(FIRST_GUID + device as u64);
    let folder = root.join("class/infiniband").join(&name);
    put(
        &folder,
        &[
            ("node_type", "1: CA"),
            ("node_guid", &guid),
            ("sys_image_guid", &guid),
            ("node_desc", &format!("{name} emulated by verbsguard")),
            ("fw_ver", "16.35.3006"),
            ("hca_type", "MT4119"),
            ("board_id", "VERBSGUARD_EMU"),
        ],
    )?;
    put(&folder.join("device"), &[("modalias", MODALIAS), ("vendor", "0x15b3"), ("device", "0x1017")])?;
    write_port(&folder.join("ports/1"), &guid)
}

fn write_port(port: &Path, guid: &str) -> io::Result<()> {
    put(
        port,
        &[
            ("state", "4: ACTIVE"),
            ("phys_state", "5: LinkUp"),
            ("rate", "100 Gb/sec (4X EDR)"),
            ("lid", "0x1"),
            ("lid_mask_count", "0"),
            ("sm_lid", "0x1"),
            ("sm_sl", "0"),
            ("cap_mask", "0x02510868"),
            ("link_layer", "InfiniBand"),
        ],
    )?;
    put(&port.join("gids"), &[("0", &format!("fe80:0000:0000:0000:{guid}"))])?;
    put(&port.join("pkeys"), &[("0", "0xffff")])?;
    put(&port.join("gid_attrs/types"), &[("0", "IB/RoCE v1")])
}

fn words(guid: u64) -> String {
    [48, 32, 16, 0].map(|shift| format!("{:04x}", guid >> shift & 0xffff)).join(":")
}

fn put(folder: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    files.iter().try_for_each(|(name, text)| fs::write(folder.join(name), format!("{text}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_are_four_words() {
        assert_eq!(words(FIRST_GUID + 0xf), "0012:4bff:fe00:0010");
    }
}
