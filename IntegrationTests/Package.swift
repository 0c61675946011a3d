// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// Tests against other people's software. Each folder has a `run` that fetches and starts what it needs; `check` runs all.
let package = Package(
    name: "IntegrationTests",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [.package(name: "PulseKit", path: "..")],
    targets: [
        .testTarget(
            name: "EncodingTests",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "encoding/Tests"),
        .testTarget(
            name: "WireTests", dependencies: [.product(name: "PulseKit", package: "PulseKit")], path: "wire/Tests"),
        // What needs a process of its own: an environment, a file system.
        .executableTarget(
            name: "wire-probe",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "wire/Probe"),
        .executableTarget(
            name: "observability-probe",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "observability/Probe"),
        // What changes the network that it is in.
        .executableTarget(
            name: "offline-probe", dependencies: [.product(name: "PulseKit", package: "PulseKit")],
            path: "offline/Probe"),
        // What writes the files that others read.
        .executableTarget(
            name: "recording-probe",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "recording/Probe"),
    ],
    swiftLanguageModes: [.v6]
)
